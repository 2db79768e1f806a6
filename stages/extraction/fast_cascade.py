"""trafilatura's order of attempts, with copies of the tree made only where an attempt needs one.

Replaces, each by a function of the same outcome: `core.trafilatura_sequence` (where comments are not asked for),
`core._prepare_tree`, `core._extract_and_compare`, `external.compare_extraction`, `main_extractor.extract_content` and
`main_extractor._extract`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from copy import copy
from typing import Any

from lxml.etree import Element, strip_elements, strip_tags, tostring

from stages.extraction.fast_readability import Readability, length

_DATA = "application/ld+json"


class Later:
    """A tree that is made when asked for; a copy of it is made anew."""

    __slots__ = ("_make", "url")

    def __init__(self, make: Callable[[], Any], url: str | None = None):
        self._make = make
        self.url = url

    def __copy__(self) -> Any:
        return self._make()


class Cascade:
    """The attempts over one copy of the library.

    Args:
        modules: the library's modules by name; `main_extractor` and the others as patched so far.
        readable: readability over the same copy.
        basic: whether BASIC_CLEAN_XPATH matches an element.
    """

    def __init__(self, modules: Any, readable: Readability, basic: Callable[[Any], bool]):
        self.baseline = modules.baseline
        self.core, self.external, self.main = modules.core, modules.external, modules.main_extractor
        self.cleaning, self.utils, self.settings = modules.htmlprocessing, modules.utils, modules.settings
        self.readable, self.basic = readable, basic
        self.first_rules = [*self.core.RAW_TREE_PRUNE_XPATH, *self.core.REMOVE_COMMENTS_AND_LISTS_XPATH]
        self.library_sequence = self.core.trafilatura_sequence
        self.shortest_duplicate: int = self.settings.MIN_DUPLICATE_LENGTH
        self.blocks = frozenset(modules.baseline._BLOCK_ELEMS)
        self.unclean = tuple(part.strip().removeprefix(".//") for part in self.external.SANITIZED_XPATH.split("|"))
        self.inline = self.settings.INLINE_FORMATTABLE | {"lb"}

    def prepare_tree(self, tree: Any, options: Any, url: str | None) -> tuple[Any, Later]:
        """Return the page cleaned and converted, and the same before its tags were converted, for later."""

        def cleaned() -> Any:
            return self.cleaning.tree_cleaning(copy(tree), options)

        return self.cleaning.convert_tags(cleaned(), options, url), Later(cleaned, url)

    def extract_and_compare(
        self, converted: Any, cleaned: Any, tree: Any, options: Any, page: int | None = None
    ) -> tuple[Any, str]:
        """Return body and text of the main attempt, or of readability or jusText where that promises more."""
        again = None  # where something was taken from `converted` since, it has to be copied at once
        if not options.comments and options.focus != "precision":
            again = Later(lambda: self.cleaning.convert_tags(copy(cleaned), options, cleaned.url))
        body, text = self.extract_content(converted, options, again)
        return (body, text) if options.fast else self.compare(cleaned, tree, body, text, options, page)

    def compare(
        self, cleaned: Any, tree: Any, body: Any, text: str, options: Any, page: int | None = None
    ) -> tuple[Any, str]:
        """Return the own text, or that of an older algorithm: readability where much longer, jusText where cleaner."""
        size, least = len(text), options.min_extracted_size
        if options.focus == "recall" and size > least * 10:
            return body, text
        other = self._readability(tree, body, size, options, length(tree) if page is None else page)
        other_text = "" if other is None else self.utils.trim(tostring(other, method="text", encoding="unicode"))
        chosen = other is not None and self.external._prefer_readability(
            body, other, other_text, size, len(other_text), options
        )
        if chosen:
            body, text, size = other, other_text, len(other_text)
        unclean = next(body.iterdescendants(*self.unclean), None) is not None
        if unclean or size < least:
            third, third_text = self.external.justext_rescue(copy(cleaned), options)
            if unclean:
                better = size <= self.external.JUSTEXT_OVERRIDE_RATIO * len(third_text) and (
                    len(third_text) > size or not options.images or body.find(".//graphic") is None
                )
            else:
                better = size < len(third_text)
            if third_text and better:
                return third, third_text
        return self.external.sanitize_tree(body, options) if chosen else (body, text)

    def _readability(self, tree: Any, body: Any, size: int, options: Any, page: int) -> Any | None:
        """Return readability's body; None where it is too short to be chosen."""

        def worth(bound: int) -> bool:
            if bound > 2 * size or (bound > 2 * options.min_extracted_size and _deficient(body)):
                return True
            return bool(options.focus == "recall" and bound > size)

        try:
            if not self.readable.promises(tree, page, worth):
                return None
            tree = copy(tree)
            if options.focus == "precision":
                tree = self.cleaning.prune_unwanted_nodes(tree, self.external.OVERALL_DISCARD_XPATH)
            markup = self.readable.summary(tree, 25, worth)
        except Exception:  # the library logs it and goes on without
            return None
        return None if markup is None else self.utils.fromstring_bytes(markup)

    def extract_content(self, tree: Any, options: Any, again: Later | None = None) -> tuple[Any, str]:
        """Return body and text found by where texts stand in pages; paragraphs from anywhere where that is little."""
        backup: Any = copy(tree) if again is None else None
        order = list(tree.iter())
        body, text, tags = self.extract(tree, options)
        if len(body) == 0 or len(text) < options.min_extracted_size:
            backup = backup if again is None else copy(again)
            used = {twin for element, twin in zip(order, backup.iter(), strict=True) if element.tag == "done"}
            body = self.main.recover_wild_text(backup, body, options, tags, used)
            text = " ".join(body.itertext()).strip()
        self._drop_repeats(body)
        strip_elements(body, "done")
        strip_tags(body, "div")
        protected = self.utils.SPACING_PROTECTED
        for line_break in body.iter("lb"):
            tail = line_break.tail
            if tail and tail.isspace() and not any(a.tag in protected for a in line_break.iterancestors()):
                line_break.tail = None
        return body, text

    def _drop_repeats(self, body: Any) -> None:
        previous = None
        for element in list(body):
            current = " ".join("".join(element.itertext()).split())
            if current and current == previous and len(current) > self.shortest_duplicate:
                self.main.delete_element(element, keep_tail=False)
            else:
                previous = current

    def extract(self, tree: Any, options: Any) -> tuple[Any, str, set[str]]:
        """Return body, text and the tags that counted, from the first place in the page that holds enough."""
        main = self.main
        tags = set(main.TAG_CATALOG)
        if options.tables is True:
            tags.update(("table", "td", "th", "tr"))
        if options.images is True:
            tags.add("graphic")
        if options.links is True:
            tags.add("ref")
        body = Element("body")
        for rule in main.BODY_XPATH:
            place = next(iter(rule(tree)), None)
            if place is None:
                continue
            place = main.prune_unwanted_sections(place, tags, options)
            if len(place) == 0:
                continue
            enough = options.min_extracted_size * (1 if options.focus == "precision" else 3)
            if not _paragraphs_hold(place.getroottree().getroot(), enough):
                tags.add("div")
            start = len(body)
            lead = self._extract_place(place, body, tags, options)
            while len(body) > 0 and body[-1].tag in main.NOT_AT_THE_END:
                main.delete_element(body[-1], keep_tail=False)
            if sum(element.tag != "graphic" for element in body) > 1:
                if lead is not None:
                    body.insert(start, lead)
                break
        return body, " ".join(body.itertext()).strip(), tags

    def _extract_place(self, place: Any, body: Any, tags: set[str], options: Any) -> Any | None:
        """Append what `place` holds to `body`; return its own first words as a paragraph, if it has any."""
        main = self.main
        elements = list(place.iterdescendants("*"))
        kinds = {element.tag for element in elements}
        if kinds == {"lb"} or (place.tag == "div" and "div" in tags and kinds <= self.inline):
            elements = [place]
        lead = None
        if elements != [place] and place.text and not place.text.isspace():
            lead = Element("p")
            lead.text = place.text
            lead = main.process_node(lead, options)
        moved: set[Any] = set()  # what lies in an element that now stands in `body`
        for element in elements:
            if element in moved:
                continue
            tag, tail = element.tag, element.tail
            made = main.handle_textelem(element, tags, options)
            if made is not None:
                body.append(made)
                if made is element or element.getparent() is made:
                    moved.update(element.iterdescendants())
                else:
                    element.tag = "done"
            if tag in main.REBUILT_BLOCKS and tail and not tail.isspace() and (made is None or made.tail is None):
                paragraph = Element("p")
                paragraph.text = tail
                if main.process_node(paragraph, options) is not None:
                    body.append(paragraph)
        return lead

    def sequence(self, tree: Any, options: Any, url: str | None = None) -> tuple[Any, str, Any, str]:
        """Return body, text, body of comments and their text: each attempt made only where those before gave little."""
        core = self.core
        if options.comments or options.focus == "precision":
            return self.library_sequence(tree, options, url)
        is_forum = self._is_forum(tree)
        tree = core.prune_unwanted_nodes(tree, core.RAW_TREE_PRUNE_XPATH if is_forum else self.first_rules)
        self._drop_scripts(tree)
        size = length(tree)
        converted, cleaned = self.prepare_tree(tree, options, url)
        body, text = self.extract_and_compare(converted, cleaned, tree, options, size)
        if len(text) < options.min_extracted_size:
            dump, dump_text, dump_size = core.baseline(tree)
            if dump_size > len(text):
                body, text = dump, dump_text
        is_short = options.focus == "balanced" and 0 < len(text) < core.ESCALATION_MAX_LENGTH
        if is_short and self._page_holds_more(tree, size, len(text), core.ESCALATION_PAGE_SHARE):
            body, text = self._escalate(tree, body, text, options, url, size)
        return body, text, Element("body"), ""

    def article(self, parse: Callable[[], Any], tree: Any, options: Any, url: str | None) -> tuple[Any, str]:
        """Return body and text of the main attempt alone, or of the page's data where it finds little.

        Args:
            parse: makes the tree once more, for what is needed seldom.
            tree: the page, which is taken apart.
        """
        core = self.core

        def pruned(tree: Any) -> Any:
            return core.prune_unwanted_nodes(tree, self.first_rules)

        def converted(tree: Any) -> Any:
            return self.cleaning.convert_tags(self.cleaning.tree_cleaning(pruned(tree), options), options, url)

        body, text = self.extract_content(converted(tree), options, Later(lambda: converted(parse())))
        if len(text) < options.min_extracted_size:
            stated = self._stated(parse())
            if stated is not None and len(stated[1]) > len(text):
                return stated
        return body, text

    def _stated(self, tree: Any) -> tuple[Any, str] | None:
        """Return body and text of what the page holds as data (JSON-LD, a forum's posts); None where it holds little."""
        texts, _ = self.baseline._collect_json_content(tree)
        found = self.baseline._attempt(map(self.baseline._render_text, texts), dedupe=True)
        return None if found is None else found[:2]

    def _is_forum(self, tree: Any) -> bool:
        says_so = self.core._DISCUSSION_FORUM_POSTING_RE.search
        return any(s.text and says_so(s.text) for s in tree.iterdescendants("script") if s.get("type") == _DATA)

    def _drop_scripts(self, tree: Any) -> None:
        """Remove scripts and styles, which no attempt reads, but for data on the article.

        Where no paragraph would survive cleaning, the attempt for more text undoes all cleaning, and reads them too.
        """
        cleaned = self.settings.MANUALLY_CLEANED
        has_paragraph = next(tree.iterdescendants("p"), None) is not None
        if has_paragraph and all(_lies_in(p, cleaned) for p in tree.iterdescendants("p")):
            return
        for element in list(tree.iter("script", "style")):
            if element.get("type") != _DATA:
                self.main.delete_element(element)

    def _escalate(self, tree: Any, body: Any, text: str, options: Any, url: str | None, size: int) -> tuple[Any, str]:
        """Return a second attempt that asks for more text, or jusText's, where it is clearly longer."""
        core = self.core
        options = copy(options)
        options.focus = "recall"
        more, more_text, third, third_text = None, "", None, ""
        with contextlib.suppress(Exception):  # the library logs it and goes on without
            converted, cleaned = self.prepare_tree(tree, options, url)
            more, more_text = self.extract_and_compare(converted, cleaned, tree, options, size)
        if not options.fast:
            with contextlib.suppress(Exception):
                third, third_text = core.justext_rescue(copy(tree), options)
        if len(third_text) > max(len(more_text), core.ESCALATION_JUSTEXT_RATIO * len(text)):
            return third, third_text
        if len(more_text) >= options.min_extracted_size and len(more_text) > core.ESCALATION_ACCEPT_RATIO * len(text):
            return more, more_text
        return body, text

    def _page_holds_more(self, tree: Any, size: int, text: int, share: float) -> bool:
        """Return whether `text` characters are less than `share` of the page without what no reader would call text."""
        body = tree.find(".//body")
        body = tree if body is None else body
        gaps = sum(1 for _ in body.iterdescendants(*self.blocks))
        return text < share * (size + 2 * gaps) and text < share * self._page_length(body)

    def _page_length(self, body: Any) -> int:
        """Return the characters of the text of `body`, white space made single: `html2txt` without a copy."""
        gone, blocks = self.basic, self.blocks
        clean: Callable[[str], str] = self.utils.remove_control_characters
        pieces: list[str] = []

        def add(text: str | None, spaced: bool) -> None:
            if spaced:
                pieces.append(" ")
                text = clean(text) if text else None
            if text:
                pieces.append(text)

        add(body.text, body.tag in blocks)
        stack: list[tuple[Any, Any]] = [(body.iterchildren("*"), body)]
        spaced = body.tag in blocks  # whether what text follows stands behind or in a block
        while stack:
            children, element = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                if stack:
                    spaced = element.tag in blocks
                    add(element.tail, spaced)
            elif gone(child):
                if child.tail:  # joins the text before it
                    pieces.append(clean(child.tail) if spaced else child.tail)
            else:
                spaced = child.tag in blocks
                add(child.text, spaced)
                stack.append((child.iterchildren("*"), child))
        return len(" ".join("".join(pieces).split()))


def _lies_in(element: Any, tags: list[str]) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def _deficient(body: Any) -> bool:
    """Return whether the own extraction has no paragraph with text, or more tables than paragraphs."""
    paragraphs = [p for p in body.iterdescendants("p")]
    if not any(True for p in paragraphs for _ in p.itertext()):
        return True
    return sum(1 for _ in body.iterdescendants("table")) > len(paragraphs)


def _paragraphs_hold(root: Any, enough: int) -> bool:
    """Return whether the page's paragraphs hold `enough` characters, and any at all."""
    size = 0
    for paragraph in root.iter("p"):
        if next(paragraph.iterancestors("p"), None) is not None:
            continue  # counted with the outer one
        for text in paragraph.itertext():
            size += len(text)
            if size >= enough:
                return True
    return False
