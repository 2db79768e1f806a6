"""trafilatura's XPath rules as walks over the tree: what an element's attributes say is worked out once per value.

The library writes its rules as XPath with ``re:test``, and lxml calls Python for every element that such a rule
looks at. Here each rule is a predicate on (id, class), remembered by these two strings, which repeat within a page
and across the pages of a site. The patterns are read from the library's own expressions, so they are never a copy.

A walk answers the outermost matches in document order. The library removes what matches together with everything
inside, so matches within matches change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from stages.extraction.alternatives import search_for

Test = Callable[[str], Any]
Walk = Callable[[Any], list[Any]]

_REMEMBERED = 1 << 15  # values; more than a large site has
_LONG = 500  # longer ones are not remembered
_RE_TEST = re.compile(r"re:test\(([^,]+), '((?:[^'])*)'(?:, '(i)')?\)")
_SECTIONS = ("div", "item", "list", "p", "section", "span")
_BODIES = ("article", "div", "main", "section")


def patterns(path: str) -> list[Test]:
    """Return a search for every ``re:test`` in the XPath `path`, in order."""
    return [search_for(p, re.IGNORECASE if i else 0) for _, p, i in _RE_TEST.findall(path)]


class Remembered(dict[Any, int]):
    """value -> what a function says of it, worked out at first sight.

    >>> Remembered(str.isupper)["A"]
    True
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]):
        self.function = function

    def __missing__(self, value: Any) -> Any:
        verdict = self.function(value)
        if len(self) >= _REMEMBERED:
            self.clear()
        if value is None or len(value) < _LONG:
            self[value] = verdict
        return verdict


class Names:
    """A rule on id and class, each judged for itself; some rules look only at the one that the source has first."""

    __slots__ = ("by_class", "by_id")

    def __init__(self, by_id: Test, by_class: Test, by_first: Test | None = None):
        if by_first is None:
            self.by_id, self.by_class = Remembered(lambda v: bool(by_id(v))), Remembered(lambda v: bool(by_class(v)))
        else:
            self.by_id = Remembered(lambda v: bool(by_id(v)) | 2 * bool(by_first(v)))
            self.by_class = Remembered(lambda v: bool(by_class(v)) | 2 * bool(by_first(v)))

    def __call__(self, element: Any) -> bool:
        class_, id_ = element.get("class"), element.get("id")
        if class_ is None:
            return id_ is not None and self.by_id[id_] > 0
        if id_ is None:
            return self.by_class[class_] > 0
        one, other = self.by_id[id_], self.by_class[class_]
        either = one | other
        if either < 2:
            return either > 0
        if either & 1 or one == other:
            return True
        names = element.keys()
        return (names.index("id") < names.index("class")) == (one == 2)


def outermost(tags: tuple[str, ...], matches: Callable[[Any], Any]) -> Walk:
    """Return a walk: the elements below a tree with one of `tags` that match and lie in no other match."""

    def walk(tree: Any) -> list[Any]:
        found = []
        elements: Iterator[Any] = tree.iterdescendants(*tags)
        for element in elements:
            if matches(element):
                found.append(element)
                for _ in zip(element.iterdescendants(*tags), elements, strict=False):
                    pass  # what lies within goes with it
        return found

    return walk


def first(tags: tuple[str, ...], matches: Callable[[Any], Any]) -> Walk:
    """Return a walk: the first element with one of `tags` that matches, as a list of at most one."""

    def walk(tree: Any) -> list[Any]:
        for element in tree.iterdescendants(*tags):
            if matches(element):
                return [element]
        return []

    return walk


def body_rules(library: list[Any]) -> list[Walk]:
    """Return BODY_XPATH: where the main text may stand, likeliest first."""
    entry_id, entry_class = patterns(library[0].path)
    story_id, full, story_class = patterns(library[2].path)
    main_id, main_class = patterns(library[3].path)
    stories = ("postarea", "art-postcontent", "text", "cell", "story")
    entry = Names(lambda i: i == "articleContent" or entry_id(i), lambda c: c in ("post", "entry") or entry_class(c))
    story = Names(
        lambda i: i in ("article", "story") or story_id(i), lambda c: c in stories or full(c) or story_class(c)
    )
    content = Names(
        lambda i: i == "content" or main_id(i) or "main-content" in _lower(i, "CM"),
        lambda c: (
            c == "content" or main_class(c) or "main-content" in _lower(c, "CM") or "page-content" in _lower(c, "CP")
        ),
    )
    main = Names(lambda i: i.startswith("main"), lambda c: c.startswith("main"))
    return [
        first(_BODIES, lambda e: entry(e) or e.get("itemprop") == "articleBody"),
        first(("article",), lambda _: True),
        first(_BODIES, lambda e: story(e) or e.get("role") == "article"),
        first(_BODIES, content),
        first(_BODIES, lambda e: e.tag == "main" or main(e) or e.get("role", "").startswith("main")),
    ]


def discard_rules(library: list[Any]) -> list[Walk]:
    """Return OVERALL_DISCARD_XPATH, both rules in one walk: sections that are not the text, and what is hidden."""
    consent, section_id, section_class = patterns(library[0].path)
    hidden, any_id, any_class = patterns(library[1].path)
    section = Names(section_id, section_class, consent)
    anything = Names(any_id, lambda c: c == "comments-title" or any_class(c), lambda first: first.startswith("reply-"))
    hiding = Remembered(lambda style: "display:none" in style or "display: none" in style)
    concealing = Remembered(lambda value: bool(hidden(value)))
    sections = frozenset(_SECTIONS)

    def matches(element: Any) -> bool:
        names = element.keys()
        if not names:
            return False
        if ("class" in names or "id" in names) and (
            anything(element) or (element.tag in sections and section(element))
        ):
            return True
        if "style" in names and hiding[element.get("style")]:
            return True
        for name in names:  # id or style, whichever comes first
            if name == "id" or name == "style":
                if concealing[element.get(name)]:
                    return True
                break
        if "aria-hidden" in names and element.get("aria-hidden") == "true":
            return True
        return element.tag in sections and (
            ("role" in names and "nav" in _lower(element.get("role"), "N"))
            or "data-lp-replacement-content" in names
            or ("data-component" in names and "MostPopularStories" in element.get("data-component"))
        )

    return [outermost(("*",), matches)]


def comment_rules(library: list[Any], tags: tuple[str, ...]) -> list[Walk]:
    """Return REMOVE_COMMENTS_XPATH, or with ``ol`` and ``ul`` in `tags` REMOVE_COMMENTS_AND_LISTS_XPATH."""
    by_id, by_class, *of_lists = patterns(library[0].path)
    blocks = Names(by_id, by_class)
    if not of_lists:
        return [outermost(tags, blocks)]
    lists = Names(*of_lists)
    return [outermost(tags, lambda e: blocks(e) and (e.tag not in ("ol", "ul") or lists(e)))]


def first_rules(raw: list[Any], comments: list[Any]) -> list[Walk]:
    """Return RAW_TREE_PRUNE_XPATH and then REMOVE_COMMENTS_AND_LISTS_XPATH, in one walk.

    The first: whole further articles that scrolling loads, and buttons to share. What either finds goes with all it
    holds, so one order of removal is as good as the other.
    """
    endless_id, endless_class, theme_id, theme_class = patterns(raw[0].path)
    by_id, by_class, list_id, list_class = patterns(comments[0].path)
    sure = Names(theme_id, theme_class)

    def bits(endless: Test, block: Test, listed: Test, value: str) -> int:
        return bool(endless(value)) | 2 * bool(block(value)) | 4 * bool(listed(value))

    def share_or_endless(value: str) -> bool:
        return "elementor-share-buttons" in value or bool(endless_class(value))

    ids = Remembered(lambda value: bits(endless_id, by_id, list_id, value))
    classes = Remembered(lambda value: bits(share_or_endless, by_class, list_class, value))
    whole, lists = frozenset(("div", "section", "aside")), frozenset(("ol", "ul"))

    def endless_one(element: Any) -> bool:
        class_, id_ = element.get("class", ""), element.get("id")
        if "elementor-share-buttons" in class_:
            return True
        if not (endless_class(class_) or (id_ is not None and endless_id(id_))):
            return False
        return sure(element) or next(element.iterdescendants("h1"), None) is None

    def matches(element: Any) -> bool:
        class_, id_ = element.get("class"), element.get("id")
        found = (0 if class_ is None else classes[class_]) | (0 if id_ is None else ids[id_])
        if not found:
            return False
        tag = element.tag
        if found & 1 and tag in whole and endless_one(element):
            return True
        return bool(found & 2) and tag != "aside" and (tag not in lists or bool(found & 4))

    return [outermost((*sorted(whole), "list", "details", *sorted(lists)), matches)]


def teaser_rules() -> list[Walk]:
    """Return TEASER_DISCARD_XPATH."""

    def teaser(value: str) -> bool:
        return "teaser" in _lower(value, "T")

    return [outermost(_SECTIONS, Names(teaser, teaser))]


def caption_rules() -> list[Walk]:
    """Return DISCARD_IMAGE_ELEMENTS."""

    def caption(value: str) -> bool:
        return "caption" in value

    return [outermost(_SECTIONS, Names(caption, caption))]


def basic_rule(library: Any) -> Callable[[Any], bool]:
    """Return BASIC_CLEAN_XPATH's predicate: what no reader of a page would call its text, cookie banners among it."""
    consent_class, consent_id = patterns(library.path)
    gone = frozenset(("aside", "fencedframe", "footer", "script", "style", "svg", "template"))
    banner = Names(consent_id, consent_class)

    def footer(value: str) -> bool:
        return "footer" in value

    foot = Names(lambda _: False, lambda _: False, footer)

    def matches(element: Any) -> bool:
        tag = element.tag
        return tag in gone or banner(element) or (tag == "div" and foot(element))

    return matches


def _lower(value: str, letters: str) -> str:
    for letter in letters:
        value = value.replace(letter, letter.lower())
    return value
