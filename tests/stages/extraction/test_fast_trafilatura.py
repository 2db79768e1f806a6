"""The faster trafilatura gives the library's text to the byte, or stays the library; nobody else meets it."""

import io
import tarfile

import pytest
import trafilatura
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from justext.core import ParagraphMaker, classify_paragraphs, revise_paragraph_classification
from lxml import etree

from pipeline.readers.charset import decode_page
from stages.extraction import fast_justext, fast_trafilatura, private_library
from stages.extraction.trees import named
from tests.stages import published
from tests.stages.extraction.pages import ARTICLE, LIBRARY_PAGES

OPTIONS = [
    {},
    {"fast": True},
    {"favor_recall": True},
    {"favor_precision": True},
    {"output_format": "markdown", "include_links": True},
    {"include_tables": False},
    {"include_comments": True},
    {"output_format": "xml", "include_images": True},
]
LIBRARY = private_library.load_copy("tests.own_trafilatura").core.extract
FAST = fast_trafilatura.extractor()


def texts(html, options):
    """Return what the library and its faster self make of a page."""
    options = {"include_comments": False, "deduplicate": False} | options
    found = []
    for extract in (LIBRARY, FAST):
        try:
            found.append(extract(html, **options))
        except RecursionError:
            found.append("too deep for Python")
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", LIBRARY_PAGES)
def test_the_text_is_the_librarys(name, options):
    theirs, ours = texts(LIBRARY_PAGES[name], options)
    assert ours == theirs


_TAGS = named(
    "div p section article aside main table tr td ul li span nav form figure details blockquote pre code sup q iframe title "
    "noframes xmp svg noscript select textarea h1 h2 button label em a br img header footer script style"
)
_NAMES = named(
    "post entry content main-content story-body comments comment-list teaser caption share- hidden nav menu footer sidebar "
    "cookie-banner infinite-scroll article-body widget related reply-1 comments-title text shadow body"
)
_attributes = st.one_of(
    st.just(""),
    st.builds(
        "{}='{}'".format, st.sampled_from(["class", "id", "role", "style", "itemprop"]), st.sampled_from(sorted(_NAMES))
    ),
    st.builds("id='{}' class='{}'".format, st.sampled_from(sorted(_NAMES)), st.sampled_from(sorted(_NAMES))),
    st.builds("class='{}' id='{}'".format, st.sampled_from(sorted(_NAMES)), st.sampled_from(sorted(_NAMES))),
    st.sampled_from(
        ["aria-hidden='true'", "style='display:none'", "role='navigation'", "data-lp-replacement-content=x"]
    ),
)
_words = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "a",
        "word, ",
        "Read more ",
        "&lt;b&gt;",
        "&nbsp;",
        "\u200b",
        "A sentence of ten words, which counts. " * 3,
    ]
)
_nodes = st.recursive(
    _words,
    lambda inner: st.builds(
        lambda tag, attributes, children, tail, closed: (
            f"<{tag} {attributes}>{''.join(children)}{f'</{tag}>' if closed else ''}{tail}"
        ),
        st.sampled_from(sorted(_TAGS)),
        _attributes,
        st.lists(inner, max_size=5),
        _words,
        st.booleans(),
    ),
    max_leaves=40,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(_nodes, min_size=1, max_size=8), st.sampled_from(OPTIONS[:4]))
def test_the_text_is_the_librarys_whatever_the_page_is_made_of(parts, options):
    theirs, ours = texts(f"<html><body>{''.join(parts)}</body></html>", options)
    assert ours == theirs


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<",
        "\x00",
        "plain words",
        "<![CDATA[",
        "<div>" * 240 + "deep " * 100 + "</div>" * 240,
        "<p>" * 3000 + "text",
        "<table>" * 60 + "<tr><td>cell",
        "<ul><li>" * 100 + "item",
        "".join(f"<div class='c{n}' id='i{n}'>word {n}</div>" for n in range(3000)),
        "<p>" + "&amp;" * 50_000,
        "<p>" + "text " * 100_000,
    ],
    ids=lambda html: html[:20],
)
def test_hostile_pages_give_the_librarys_text(html):
    theirs, ours = texts(f"<html><body>{html}</body></html>", {})
    assert ours == theirs


def test_the_rules_find_what_the_librarys_xpaths_find():
    modules = private_library.load_copy("tests.own_trafilatura_too")
    xpaths = modules.xpaths
    fast_trafilatura.accelerate(modules)
    originals = private_library.load_copy("tests.own_trafilatura").xpaths
    for name in (
        "OVERALL_DISCARD_XPATH",
        "RAW_TREE_PRUNE_XPATH",
        "REMOVE_COMMENTS_AND_LISTS_XPATH",
        "TEASER_DISCARD_XPATH",
    ):
        for html in LIBRARY_PAGES.values():
            tree = modules.utils.load_html(html)
            theirs = {element for rule in getattr(originals, name) for element in rule(tree)}
            outermost = {e for e in theirs if not theirs & set(e.iterancestors())}
            assert {e for rule in getattr(xpaths, name) for e in rule(tree)} == outermost


@settings(max_examples=100, deadline=None)
@given(st.lists(_nodes, min_size=1, max_size=6))
def test_paragraphs_and_their_kinds_are_justexts(parts):
    tree = etree.HTML(f"<html><body>{''.join(parts)}</body></html>")
    words = frozenset(("a", "of", "which", "the"))
    theirs = ParagraphMaker.make_paragraphs(tree)
    classify_paragraphs(theirs, words, 50, 150, 0.1, 0.2, 0.25, True)
    revise_paragraph_classification(theirs, 150)
    ours = fast_justext.paragraphs_of(tree)
    assert [p.text for p in ours] == [p.text for p in theirs]
    assert fast_justext.judge(ours, words) == [p.class_type for p in theirs]


def test_another_source_leaves_the_library_as_it_is_and_says_so(monkeypatch):
    monkeypatch.setitem(fast_trafilatura.DIGESTS, "utils.trim", "0" * 16)
    monkeypatch.setattr(fast_trafilatura, "SOURCES", "other")
    fast_trafilatura._loaded.cache_clear()
    try:
        modules = fast_trafilatura.library()
        assert "utils.trim" in fast_trafilatura.why_slow()
        assert modules.core._prepare_tree.__module__.endswith("own_trafilatura.core")
        assert modules.core.extract(ARTICLE, include_comments=False) == LIBRARY(ARTICLE, include_comments=False)
    finally:
        fast_trafilatura._loaded.cache_clear()


def test_another_version_leaves_the_library_as_it_is_and_says_so(monkeypatch):
    monkeypatch.setitem(fast_trafilatura.VERSIONS, "trafilatura", "1.0")
    monkeypatch.setattr(fast_trafilatura, "SOURCES", "other")
    fast_trafilatura._loaded.cache_clear()
    try:
        assert fast_trafilatura.why_slow().startswith("trafilatura runs as it is")
    finally:
        fast_trafilatura._loaded.cache_clear()


def test_the_pinned_release_is_the_one_the_functions_were_proved_for():
    modules = private_library.load_copy("tests.own_trafilatura")
    assert fast_trafilatura.differences(modules) == []
    assert private_library.sources_digest(fast_trafilatura.VERSIONS) == fast_trafilatura.SOURCES
    assert fast_trafilatura.why_slow() == ""


def test_others_who_use_the_library_get_it_as_it_is():
    fast_trafilatura.library()
    for name in ("extract", "bare_extraction", "trafilatura_sequence", "prune_unwanted_nodes"):
        assert getattr(trafilatura.core, name).__module__.startswith("trafilatura.")
    assert all(isinstance(x, etree.XPath) for x in trafilatura.main_extractor.BODY_XPATH)


def real_pages():
    archive = published.DATA / "extract-trafilatura/pages.tar.zst"
    if not archive.is_file():
        pytest.skip("no real pages here")
    raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(archive.open("rb"))
    with tarfile.open(fileobj=io.BytesIO(raw.read())) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(".html"):
                yield member.name, decode_page(tar.extractfile(member).read(), None).text


@pytest.mark.real
def test_the_text_of_every_real_page_is_the_librarys():
    different = []
    for name, html in real_pages():
        theirs, ours = texts(html, {})
        if theirs != ours:
            different.append(name)
    assert different == []
