"""trafilatura's steps over single nodes, with what is asked of every element answered once or not at all.

Replaces `utils.trim`, `utils.remove_control_characters`, `htmlprocessing.prune_unwanted_nodes`,
`htmlprocessing.delete_by_link_density`, the removal of elements in `htmlprocessing.tree_cleaning`, and
`htmlprocessing.prune_html`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_LINK_LIMITS = {("p", True): 60, ("p", False): 30, ("", True): 300, ("", False): 100}
"""(paragraph or not, last of its siblings) -> characters below which the share of links decides."""


def trim(text: str | None) -> str:
    """Return `text` with white space made single. The library keeps the last 1,024 answers, which costs more."""
    try:
        return " ".join(text.split())  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        return ""


def remove_control_characters(text: str) -> str:
    """Return `text` without characters that are neither printable nor white space."""
    if text.isprintable() or "".join(text.split()).isprintable():
        return text
    return "".join(c for c in text if c.isprintable() or c.isspace())


def line_processing(line: str, preserve_space: bool = False, trailing_space: bool = False) -> str | None:
    """Return `line` without characters that are neither printable nor white space; those made single unless preserved."""
    if "&" in line:
        line = line.replace("&#13;", "\r").replace("&#10;", "\n").replace("&nbsp;", "\u00a0")
    clean = remove_control_characters(line)
    if preserve_space:
        return clean
    text = trim(clean)
    if not text:
        return None
    if trailing_space:
        return f"{' ' if line[0].isspace() else ''}{text}{' ' if line[-1].isspace() else ''}"
    return text


def no_log(*_: Any) -> None:
    """Take the place of a function that formats text for a log that nobody reads."""


class Scrub:
    """`utils.INVALID_XML_CHARS` for pages that have none of them, as nearly all: told by one look at their bytes."""

    _CONTROLS = bytes((*range(9), 11, 12, *range(14, 32)))

    def __init__(self, pattern: Any):
        self._pattern = pattern

    def sub(self, by: str, page: str) -> str:
        """Return `page` with forbidden characters replaced."""
        data = page.encode("utf-8", "surrogatepass")
        if len(data.translate(None, self._CONTROLS)) == len(data) and "\ufffe" not in page and "\uffff" not in page:
            return page
        return self._pattern.sub(by, page)


class Cleaning:
    """The steps over one copy of the library.

    Args:
        modules: the library's modules by name.
    """

    def __init__(self, modules: Any):
        self.main = modules.main_extractor
        self.html, self.settings = modules.htmlprocessing, modules.settings
        self.delete: Callable[..., None] = modules.xml.delete_element
        self.farm_share: float = modules.utils.LINK_FARM_RATIO

    def prune_unwanted_nodes(
        self, tree: Any, rules: Iterable[Callable[[Any], list[Any]]], with_backup: bool = False
    ) -> Any:
        """Remove what `rules` find; with `with_backup` nothing, where that would be six sevenths of the text or more."""
        if not with_backup:
            for rule in rules:
                for element in rule(tree):
                    self.delete(element)
            return tree
        found = dict.fromkeys(element for rule in rules for element in rule(tree))
        outer = [e for e in found if not any(a in found for a in e.iterancestors())] if len(found) > 1 else list(found)
        if outer:
            size = len(tree.text_content())
            if size - sum(len(element.text_content()) for element in outer) > size / 7:
                for element in outer:
                    self.delete(element)
        return tree

    def tree_cleaning(self, tree: Any, options: Any) -> Any:
        """Remove what is never text (scripts, menus, forms, pictures); unwrap what only formats it."""
        html = self.html
        if options.focus == "recall" or options.images or "form" not in html.MANUALLY_CLEANED:
            return html.library_tree_cleaning(tree, options)
        html.recover_math(tree)
        gone = [tag for tag in html.MANUALLY_CLEANED if tag != "form"]
        if options.tables:
            _unwrap_layout(tree)
        else:
            gone.extend(("table", "td", "th", "tr"))
        html.strip_tags(tree, html.MANUALLY_STRIPPED)
        self._remove_tags(tree, gone)
        html._handle_forms(tree)
        return self.prune_html(tree, options.focus)

    def _remove_tags(self, tree: Any, tags: list[str]) -> None:
        found: dict[str, list[Any]] = {}
        for element in tree.iter(*tags):
            found.setdefault(element.tag, []).append(element)
        for tag in tags:
            for element in found.get(tag, ()):
                # the library's iteration goes on inside what it has cut off, and ends there
                last = len(found[tag]) > 1 and self._attached(element, tree) and _holds(element, tag)
                self.delete(element)
                if last:
                    break

    @staticmethod
    def _attached(element: Any, tree: Any) -> bool:
        return element.getroottree().getroot() is tree

    def prune_html(self, tree: Any, focus: str = "balanced") -> Any:
        """Remove elements without content."""
        tails = focus != "precision"
        empty = [e for e in tree.iterdescendants(*self.settings.CUT_EMPTY_ELEMS) if e.text is None and len(e) == 0]
        for element in empty:
            self.delete(element, keep_tail=tails)
        return tree

    def prune_unwanted_sections(self, tree: Any, tags: set[str], options: Any, keep_teasers: bool = False) -> Any:
        """Remove from the place where the text stands what is not text: by name, and what is mostly links."""
        main, strict = self.main, options.focus == "precision"
        tree = self.prune_unwanted_nodes(tree, main.OVERALL_DISCARD_XPATH, with_backup=True)
        if "graphic" not in tags:
            tree = self.prune_unwanted_nodes(tree, main.DISCARD_IMAGE_ELEMENTS)
        if options.focus != "recall":
            if not keep_teasers:
                tree = self.prune_unwanted_nodes(tree, main.TEASER_DISCARD_XPATH)
            if strict:
                tree = self.prune_unwanted_nodes(tree, main.PRECISION_DISCARD_XPATH)
        if self._link_farms(tree, strict):
            self._link_farms(tree, strict)
        if "table" in tags or strict:
            farms = [
                table for table in tree.iter("table") if _holds(table, "ref") and main.link_density_test_tables(table)
            ]
            for table in farms:
                self.delete(table, keep_tail=False)
        if strict:
            while len(tree) > 0 and tree[-1].tag == "head":
                self.delete(tree[-1], keep_tail=False)
            for tag in ("head", "quote"):
                self.delete_by_link_density(tree, tag, favor_precision=True)
        main.strip_tags(tree, "span", *(() if "ref" in tags else ("ref",)))
        return tree

    def _link_farms(self, tree: Any, strict: bool) -> bool:
        """Remove the divisions, lists and paragraphs that are mostly links; return whether there were any."""
        removed, holders = False, _holders(tree)
        for tag, backtracking in (("div", True), ("list", False), ("p", False)):
            gone = self._farms(tree, holders, tag, backtracking, strict)
            for element in gone:
                self.delete(element)
            if gone:
                removed, holders = True, _holders(tree)
        return removed

    def delete_by_link_density(
        self, tree: Any, tag: str, backtracking: bool = False, favor_precision: bool = False
    ) -> Any:
        """Remove the elements named `tag` that are mostly links: menus, lists of other pages."""
        for element in self._farms(tree, _holders(tree, tag), tag, backtracking, favor_precision):
            self.delete(element)
        return tree

    def _farms(self, tree: Any, holders: dict[Any, list[Any]], tag: str, backtracking: bool, strict: bool) -> list[Any]:
        shortest, children = (200, 1) if strict else (100, 3)
        gone = []
        for element, links in holders.items():
            if element.tag != tag:
                continue
            result, short = self._mostly_links(element, links, strict)
            if result or (backtracking and short and len(element) >= children and not _at_least(element, shortest)):
                parent = element.getparent()
                if tag == "p" and parent is not None and parent.tag in ("item", "td", "th"):
                    continue
                gone.append(element)
        return gone

    def _farm_limit(self, links: int) -> int:
        """Return the fewest characters of text in which `links` characters of link are no link farm."""
        size = int(links / self.farm_share)
        while links > size * self.farm_share:
            size += 1
        return size

    def _mostly_links(self, element: Any, links: list[Any], strict: bool) -> tuple[bool, bool]:
        """Return (whether the element is mostly links, whether it is short and has links)."""
        if _holds(element, "graphic"):
            return False, False
        if len(links) == 1:
            link = len(trim(links[0].text_content()))
            if link > (10 if strict else 100) and link > len(trim(element.text_content())) * 0.9:
                return True, False
        limit = _LINK_LIMITS["p" if element.tag == "p" else "", element.getnext() is None]
        if not _at_least(element, limit):
            total, number, short, _ = self.html.collect_link_info(links)
            if number == 0:
                return True, False
            return total > len(trim(element.text_content())) * 0.8 or (number > 1 and short / number > 0.8), True
        if len(links) > 4:
            total, number, _, _ = self.html.collect_link_info(links)
            if total < 100 * number and not _at_least(element, self._farm_limit(total)):
                return not self.html.is_paragraph_listing(links), False
        return False, False


def _holders(tree: Any, *tags: str) -> dict[Any, list[Any]]:
    """Return element -> links in it, for the elements of `tree`, itself among them, that have links and one of `tags`."""
    wanted = frozenset(tags or ("div", "list", "p"))
    holders: dict[Any, list[Any]] = {}
    for link in tree.iterdescendants("ref"):
        ancestor = link
        while ancestor is not tree:
            ancestor = ancestor.getparent()
            if ancestor.tag in wanted:
                links = holders.get(ancestor)
                if links is None:
                    holders[ancestor] = [link]
                else:
                    links.append(link)
    return holders


def _at_least(element: Any, size: float) -> bool:
    """Return whether the element's text, white space made single, has `size` characters, reading no more than needed."""
    seen = 0
    for text in element.itertext():
        seen += len("".join(text.split()))
        if seen >= size:
            return True
    return len(trim(element.text_content())) >= size


def _holds(element: Any, tag: str) -> bool:
    return next(element.iterdescendants(tag), None) is not None


def _unwrap_layout(tree: Any) -> None:
    for element in tree.iter("figure", "table"):
        if element.tag == "figure":
            layout = _holds(element, "table")
        else:
            layout = element.get("role") in ("presentation", "none")
        if layout:
            element.tag = "div"
