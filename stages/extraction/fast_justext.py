"""jusText as trafilatura calls it, over a walk instead of SAX events, each paragraph's text built once.

Replaces `justext.core.ParagraphMaker.make_paragraphs`, `classify_paragraphs` and `revise_paragraph_classification`
within trafilatura's `external.try_justext`. The rules are jusText's (Pomikálek 2011); headings are left out, since
trafilatura asks for none. What was slow: an event and an attribute object for each element, text joined and
normalised again at each look, and a stop list of all languages made lower case and hashed anew for each page.
"""

from __future__ import annotations

import functools
from typing import Any

from justext.core import PARAGRAPH_TAGS
from justext.utils import get_stoplist, get_stoplists, normalize_whitespace

_SHORT, _LONG, _FEW_STOP_WORDS, _MANY_STOP_WORDS, _MANY_LINKS = 50, 150, 0.1, 0.2, 0.25  # trafilatura's choice


class Paragraph:
    """A run of text between block tags: its text, how much of it is link, and whether it stands in a ``select``."""

    __slots__ = ("chars", "in_links", "kind", "selected", "text")

    def __init__(self, chars: str, in_links: int, selected: bool):
        self.text = normalize_whitespace(chars.strip())
        self.in_links = in_links
        self.selected = selected
        self.kind = ""


def paragraphs_of(root: Any) -> list[Paragraph]:
    """Return the paragraphs of the tree, those without text left out."""
    made: list[Paragraph] = []
    pieces: list[str] = []
    in_links, link, br = 0, False, False
    path: list[str] = []
    selects = 0  # tags on the path whose name holds "select"
    started_in_select = False

    def cut() -> None:
        nonlocal in_links, started_in_select
        if pieces:
            paragraph = Paragraph("".join(pieces), in_links, started_in_select)
            if paragraph.text:
                made.append(paragraph)
            pieces.clear()
        in_links, started_in_select = 0, selects > 0

    def text_of(content: str | None) -> None:
        nonlocal in_links, br
        if not content or content.isspace():
            return
        content = normalize_whitespace(content)
        pieces.append(content)
        if link:
            in_links += len(content)
        br = False

    stack: list[Any] = [iter((root,))]
    ends: list[Any] = []
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
            if not ends:
                break
            closed = ends.pop()
            name = path.pop()
            selects -= "select" in name
            if name in PARAGRAPH_TAGS:
                cut()
            if name == "a":
                link = False
            text_of(closed.tail)
            continue
        tag = element.tag
        if not isinstance(tag, str):
            text_of(element.tail)
            continue
        name = tag.rpartition("}")[2]
        path.append(name)
        selects += "select" in name
        if name in PARAGRAPH_TAGS or (name == "br" and br):
            cut()
        else:
            br = name == "br"
            if br:
                pieces.append(" ")
            elif name == "a":
                link = True
        text_of(element.text)
        ends.append(element)
        stack.append(element.iterchildren())
    cut()
    return made


def judge(paragraphs: list[Paragraph], stop_words: frozenset[str]) -> list[str]:
    """Return for each paragraph whether it is ``good`` or ``bad``: each for itself, then by its neighbours."""
    kinds = [_alone(p, stop_words) for p in paragraphs]
    before, after = _nearest(kinds), _nearest(kinds[::-1])[::-1]
    revised = list(kinds)
    for n, kind in enumerate(kinds):
        if kind == "short":
            revised[n] = _short(before[n], after[n])
    before, after = _nearest(revised), _nearest(revised[::-1])[::-1]
    final = list(revised)
    earlier = "bad"  # what is decided here counts for the paragraphs behind
    for n, kind in enumerate(revised):
        if kind == "neargood":
            final[n] = "bad" if (earlier, after[n][0]) == ("bad", "bad") else "good"
        earlier = final[n]
    return final


def _alone(p: Paragraph, stop_words: frozenset[str]) -> str:
    length = len(p.text)
    if p.in_links / length > _MANY_LINKS or "\xa9" in p.text or "&copy" in p.text or p.selected:
        return "bad"
    if length < _SHORT:
        return "bad" if p.in_links else "short"
    words = p.text.split()
    density = sum(word.lower() in stop_words for word in words) / len(words)
    if density >= _MANY_STOP_WORDS:
        return "good" if length > _LONG else "neargood"
    return "neargood" if density >= _FEW_STOP_WORDS else "bad"


def _nearest(kinds: list[str]) -> list[tuple[str, str]]:
    """Return for each place the kind of the nearest paragraph before it: (good or bad, good or bad or neargood)."""
    nearest = []
    sure = any_ = "bad"
    for kind in kinds:
        nearest.append((sure, any_))
        if kind in ("good", "bad"):
            sure = any_ = kind
        elif kind == "neargood":
            any_ = kind
    return nearest


def _short(before: tuple[str, str], after: tuple[str, str]) -> str:
    if before[0] == after[0]:
        return before[0]
    unsure = (before[0] == "bad" and before[1] == "neargood") or (after[0] == "bad" and after[1] == "neargood")
    return "good" if unsure else "bad"


@functools.lru_cache(maxsize=128)
def stop_words(language: str | None) -> frozenset[str]:
    """Return jusText's stop list of `language`; of all languages together for None."""
    names = get_stoplists() if language is None else (language,)
    return frozenset(word.lower() for name in names for word in get_stoplist(name))
