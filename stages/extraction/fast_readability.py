"""readability as trafilatura calls it, ended as soon as its text is too short to be chosen.

Replaces `readability_lxml.Document` within trafilatura's `external.try_readability`. Its text is used only where it
is much longer than the extractor's own, and each of its steps only takes away: so what is left after a step is a
bound, and most pages end at the first. What is gone through to the end has the library's scores, with joins, texts
and verdicts on attributes not built anew for each element.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from lxml.etree import SubElement, tostring

from stages.extraction.fast_rules import Remembered, outermost

_RAW_TEXT = ("title", "noframes", "noembed", "xmp", "plaintext")
"""Elements whose content a parser takes as it stands: empty ones, written as XML, swallow what follows."""
_VIDEO = 5  # letters of the word that stands for a video
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ARTICLE_LINK_SHARE = 0.33
_SPACE = " \t\r\n"


class Readability:
    """The algorithm over one version of the library, whose scores and patterns it reads.

    Args:
        library: trafilatura's module `readability_lxml`.
    """

    def __init__(self, library: Any):
        unlikely, maybe = library.REGEXES["unlikelyCandidatesRe"], library.REGEXES["okMaybeItsACandidateRe"]
        positive, negative = library.REGEXES["positiveRe"], library.REGEXES["negativeRe"]
        frames = frozenset(library.FRAME_TAGS)

        def bits(value: str) -> int:
            low = value.lower()
            return bool(unlikely.search(low)) | 2 * bool(maybe.search(low))

        # no pattern has a space, so id and class can be judged each for itself
        verdicts = Remembered(bits)

        def is_unlikely(element: Any) -> bool:
            class_, id_ = element.get("class"), element.get("id")
            verdict = (0 if class_ is None else verdicts[class_]) | (0 if id_ is None else verdicts[id_])
            return verdict == 1 and element.tag not in frames

        self._video: re.Pattern[str] = library.REGEXES["videoRe"]
        self._sentence: re.Pattern[str] = library.DOT_SPACE
        self._tag_scores: dict[str, int] = library.TAG_SCORES
        self._counted = tuple(library.TEXT_CLEAN_ELEMS)
        self._lists = frozenset(library.LIST_TAGS)
        self._blocks = Remembered(lambda tag: tag.startswith(library.DIV_TO_P_PREFIXES))
        self._unlikely = outermost(("*",), is_unlikely)
        self._weights = Remembered(
            lambda name: 25 * bool(positive.search(name)) - 25 * bool(negative.search(name)) if name else 0
        )

    def promises(self, tree: Any, size: int, worth: Callable[[int], bool]) -> bool:
        """Return whether the page's main text may be `worth` it, by what is left without its unlikely parts.

        Args:
            tree: the page, which stays as it is; scripts and styles may be gone already.
            size: `length` of the page.
            worth: whether a text of so many characters would be used; if true of one, then of each longer one.
        """
        if not self._may(tree, size, worth):
            return False
        unlikely = sum(length(element) for element in self._unlikely(tree))
        return self._may(tree, size - unlikely, worth)

    def summary(self, tree: Any, shortest: int, worth: Callable[[int], bool]) -> str | None:
        """Return the page's main text as markup; None where a bound on its length is not `worth` it.

        Args:
            tree: the page, which is taken apart.
            shortest: characters below which a paragraph does not count.
            worth: as for `promises`.
        """
        for element in list(tree.iter("script", "style", "fencedframe")):
            element.drop_tree()
        for element in self._unlikely(tree):
            element.drop_tree()
        self._divs_to_paragraphs(tree)
        scores = self._scores(tree, shortest)
        best = max(scores, key=scores.__getitem__, default=None)
        if best is None:
            body = tree.find("body")
            article = tree if body is None else body
        else:
            article = self._article(tree, best, scores)
        if not self._may(article, length(article), worth):
            return None
        self._sanitize(article, scores, shortest)
        return tostring(article, encoding=str, method="xml")

    @staticmethod
    def _may(tree: Any, size: int, worth: Callable[[int], bool]) -> bool:
        for element in tree.iter(*_RAW_TEXT):
            text = element.text
            if not text or (element.tag != "title" and ("&" in text or "<" in text or ">" in text)):
                return True
        videos = sum(1 for _ in tree.iter("iframe"))
        return worth(size + _VIDEO * videos)

    def _divs_to_paragraphs(self, tree: Any) -> None:
        blocks, holders = self._blocks, set()
        for element in tree.iterdescendants("*"):
            if blocks[element.tag]:
                parent = element.getparent()
                while parent is not None and parent not in holders:
                    holders.add(parent)
                    parent = parent.getparent()
        for div in list(tree.iterdescendants("div")):
            if div not in holders and (next(div.iterdescendants("a"), None) is None or _loose_text(div)):
                div.tag = "p"
        for div in list(tree.iterdescendants("div")):
            if div.text and not div.text.isspace():
                paragraph = div.makeelement("p")
                paragraph.text, div.text = div.text, None
                div.insert(0, paragraph)
            for child in reversed(list(div)):
                tail = child.tail
                if tail and not tail.isspace():
                    paragraph = div.makeelement("p")
                    child.tail, paragraph.text = None, tail
                    child.addnext(paragraph)
                if child.tag == "br":
                    child.drop_tree()

    def _scores(self, tree: Any, shortest: int) -> dict[Any, float]:
        scores: dict[Any, float] = {}
        for element in tree.iter("p", "pre", "td"):
            parent = element.getparent()
            if parent is None:
                continue
            grand = parent.getparent()
            text = " ".join(element.text_content().split())
            size = len(text)
            if size < shortest:
                continue
            for node in (parent, grand):
                if node is not None and node not in scores:
                    scores[node] = self._weight(node) + self._tag_scores.get(str(node.tag).lower(), 0)
            score = 2 + text.count(",") + min((size / 100), 3)
            scores[parent] += score
            if grand is not None:
                scores[grand] += score / 2
        for element in scores:
            scores[element] *= 1 - link_share(element)
        return scores

    def _weight(self, element: Any) -> int:
        return self._weights[element.get("class")] + self._weights[element.get("id")]

    def _article(self, tree: Any, best: Any, scores: dict[Any, float]) -> Any:
        least = max(10, scores[best] * 0.2)
        output = SubElement(tree.makeelement("body"), "div")  # in a body, as the library's: so it can be dropped itself
        parent = best.getparent()
        for sibling in [best] if parent is None else list(parent):
            if sibling is best or scores.get(sibling, least - 1) >= least or self._is_prose(sibling):
                output.append(sibling)
        return output

    def _is_prose(self, element: Any) -> bool:
        if element.tag != "p":
            return False
        text = element.text or ""
        if len(text) > 80:
            return link_share(element) < 0.25
        return bool(self._sentence.search(text)) and link_share(element) == 0

    def _sanitize(self, article: Any, scores: dict[Any, float], shortest: int) -> None:
        for heading in list(article.iter(*_HEADINGS)):
            if self._weight(heading) < 0 or link_share(heading) > _ARTICLE_LINK_SHARE:
                heading.drop_tree()
        for element in list(article.iter("form", "textarea")):
            element.drop_tree()
        for element in list(article.iter("iframe")):
            if "src" in element.attrib and self._video.search(element.attrib["src"]):
                element.text = "VIDEO"
            else:
                element.drop_tree()
        for element in reversed(list(article.iter("table", "ul", "div", "aside", "header", "footer", "section"))):
            weight = self._weight(element)
            if weight + scores.get(element, 0) < 0 or self._is_clutter(element, weight, shortest):
                element.drop_tree()

    def _is_clutter(self, element: Any, weight: int, shortest: int) -> bool:
        content = element.text_content()
        if content.count(",") >= 10:
            return False
        counts = Counter(e.tag for e in element.iterdescendants(*self._counted))
        inputs = counts["input"] - len(element.findall('.//input[@type="hidden"]'))
        items, size = counts["li"] - 100, len(" ".join(content.split()))
        if counts["p"] and counts["img"] > 1 + counts["p"] * 1.3:
            return True
        if items > counts["p"] and element.tag not in self._lists:
            return True
        if inputs > counts["p"] / 3:
            return True
        if size < shortest and (counts["img"] == 0 or counts["img"] > 2):
            return True
        if link_share(element) > (0.5 if weight >= 25 else 0.2):
            return True
        if (counts["embed"] == 1 and size < 75) or counts["embed"] > 1:
            return True
        return not size and _nearest(element.itersiblings()) + _nearest(element.itersiblings(preceding=True)) <= 1000


def length(element: Any) -> int:
    """Return the characters of the element's text, white space made single."""
    return len(" ".join(element.text_content().split()))


def link_share(element: Any) -> float:
    """Return the share of the element's text that is link."""
    links = sum(length(link) for link in element.iterdescendants("a"))
    return links / (length(element) or 1) if links else 0.0


def _loose_text(element: Any) -> bool:
    return bool((element.text or "").strip(_SPACE)) or any((child.tail or "").strip(_SPACE) for child in element)


def _nearest(siblings: Any) -> int:
    return next((size for sibling in siblings if (size := length(sibling))), 0)
