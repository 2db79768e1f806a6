import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.etree import tostring

from stages.extraction import asides, fast_rules
from stages.extraction.alternatives import search_for, split
from stages.extraction.fast_trafilatura import library
from stages.extraction.private_library import load_copy

OPTIONS = [
    "a",
    "ab",
    "abc",
    "^a",
    "^b",
    "b?c",
    "a+b",
    "(?:a|b)c",
    "[ab|]c",
    r"\|a",
    r"a\b",
    "c(?!a)",
    "ab-?c",
    "",
    "b|c",
]
LIBRARY = load_copy("stages.extraction.trafilatura_as_it_is")
PATTERNS = [
    (pattern, re.IGNORECASE if ignore else 0)
    for name in ("BODY_XPATH", "OVERALL_DISCARD_XPATH", "RAW_TREE_PRUNE_XPATH", "REMOVE_COMMENTS_AND_LISTS_XPATH")
    for rule in getattr(LIBRARY.xpaths, name)
    for _, pattern, ignore in fast_rules._RE_TEST.findall(rule.path)
]


@given(st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=8), st.text("abc|-", max_size=6))
def test_arranged_alternatives_find_what_the_pattern_finds(options, text):
    pattern = "|".join(options)
    assert bool(search_for(pattern)(text)) == bool(re.search(pattern, text))


@pytest.mark.parametrize(("pattern", "flags"), PATTERNS)
def test_the_librarys_own_patterns_find_the_same_arranged(pattern, flags):
    arranged, search = search_for(pattern, flags), re.compile(pattern, flags).search
    words = re.findall(r"[\w-]+", pattern)
    cases = [*words, *(f"x{w}" for w in words), *(f"{w} y" for w in words), *(f"a {w[:-1]}" for w in words)]
    assert [c for c in cases if bool(arranged(c)) != bool(search(c))] == []
    assert [c for c in cases if bool(arranged(c.upper())) != bool(search(c.upper()))] == []


@pytest.mark.parametrize("family", asides._FAMILIES)
def test_asides_are_found_in_lower_case_by_patterns_without_capitals(family):
    assert re.sub(r"\\[A-Z]", "", family).islower()
    assert len(split(family)) > 1 or family.startswith("^")


FIRST = fast_rules.first_rules(LIBRARY.xpaths.RAW_TREE_PRUNE_XPATH, LIBRARY.xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH)
NAMES = [
    "",
    "comment",
    "comments",
    "article-comments",
    "infinite-scroll",
    "mvp-post-add-box",
    "elementor-share-buttons",
]
ELEMENTS = st.recursive(
    st.sampled_from(["text", "<h1>head</h1>", "<p>par</p>"]),
    lambda inner: st.builds(
        lambda tag, name, key, parts: f'<{tag} {key}="{name}">{"".join(parts)}</{tag}>tail',
        st.sampled_from(["div", "section", "aside", "ol", "ul", "details"]),
        st.sampled_from(NAMES),
        st.sampled_from(["class", "id"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=10,
)


@given(st.lists(ELEMENTS, min_size=1, max_size=4))
def test_one_walk_removes_what_the_librarys_first_two_rules_remove_one_after_the_other(parts):
    html = f"<html><head><title>t</title></head><body><p>a</p>{''.join(parts)}<p>b</p></body></html>"
    ours, theirs = (library().utils.load_html(html) for _ in range(2))
    x, prune = LIBRARY.xpaths, LIBRARY.htmlprocessing.prune_unwanted_nodes
    prune(theirs, x.RAW_TREE_PRUNE_XPATH)
    prune(theirs, x.REMOVE_COMMENTS_AND_LISTS_XPATH)
    prune(ours, FIRST)
    assert tostring(ours) == tostring(theirs)
