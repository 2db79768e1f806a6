"""Pages become text: what is kept, what is dropped and why, and nothing depends on what came before."""

import dataclasses
import io
import tarfile

import pyarrow as pa
import pytest
import trafilatura
import zstandard

from pipeline.documents import Batch
from pipeline.stage import Drop, StageFault
from stages.extraction import extract as module
from stages.extraction.extract import Extract
from stages.extraction.nesting import tag_depth
from stages.extraction.source import _STAND_INS, scrub
from tests.stages import published
from tests.stages.extraction.pages import ARTICLE, SENTENCES, page

ENGINES = [
    Extract(),
    Extract(engine="trafilatura"),
    Extract(engine="trafilatura", fast=True),
    Extract(engine="resiliparse"),
]


def batch(*pages, types=None, texts=None):
    rows = len(pages)
    return Batch(
        pa.RecordBatch.from_pydict(
            {
                "id": pa.array([str(n) for n in range(rows)], pa.large_string()),
                "text": pa.array(texts or [None] * rows, pa.large_string()),
                "raw": pa.array(pages, pa.large_binary()),
                "content_type": pa.array(types or ["text/html"] * rows, pa.large_string()),
            }
        )
    )


def only_removal(stage, *args, **kwargs):
    outcome = stage.apply(batch(*args, **kwargs))
    assert len(outcome.kept) == 0
    return outcome.removed[0]


@pytest.mark.parametrize("stage", ENGINES)
def test_paragraphs_become_lines_and_menus_go(stage):
    lines = stage.extract(ARTICLE).splitlines()
    assert [line for line in lines if line in SENTENCES] == SENTENCES
    assert "About us" not in lines


@pytest.mark.parametrize("stage", ENGINES)
def test_text_charset_and_how_it_was_found_become_columns_and_the_page_goes(stage):
    outcome = stage.apply(
        batch(ARTICLE.replace("bridges", "Brücken").encode("latin-1"), types=["text/html; charset=iso-8859-1"])
    )
    names = outcome.kept.data.schema.names
    assert "raw" not in names
    assert "content_type" not in names
    assert "Brücken" in outcome.kept.texts[0]
    assert outcome.kept.column("charset") == ["windows-1252"]
    assert outcome.kept.column("charset_found_by") == ["header"]


def test_documents_that_come_with_text_pass_as_they_are():
    outcome = Extract().apply(batch(None, ARTICLE.encode(), texts=["as it is", None]))
    assert outcome.kept.texts[0] == "as it is"
    assert outcome.kept.column("charset")[0] is None
    assert len(outcome.kept) == 2


def test_a_document_with_neither_text_nor_page_is_dropped():
    assert only_removal(Extract(), None).rule == "no_text"


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("raw", [b"", b" ", b"<html></html>", b"<!-- -->", b"<p></p>"])
def test_a_page_without_text_is_dropped(stage, raw):
    assert only_removal(stage, raw).rule == "no_text"


@pytest.mark.parametrize(
    ("raw", "rule", "detail"),
    [
        (b"%PDF-1.7 " + bytes(range(256)), "binary_content", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(300), "binary_content", "image/png"),
        (b"PK\x03\x04" + bytes(300), "binary_content", "application/zip"),
        (b'{"key": ["value"]}', "not_a_page", "application/json"),
        (b"<?xml version='1.0'?><rss><channel/></rss>", "not_a_page", "xml (rss)"),
    ],
)
def test_what_is_no_page_is_dropped_and_named(raw, rule, detail):
    removal = only_removal(Extract(), raw)
    assert (removal.rule, removal.detail) == (rule, detail)


def test_a_page_that_is_too_large_is_dropped_with_its_size():
    raw = ARTICLE.encode()
    removal = only_removal(Extract(max_bytes=100), raw)
    assert (removal.rule, removal.value, removal.threshold) == ("page_too_large", len(raw), 100)


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("depth", [240, 300, 3000])
def test_text_is_found_however_deeply_it_is_nested(stage, depth):
    deep = page("<div>" * depth + "".join(f"<p>{s}</p>" for s in SENTENCES) + "</div>" * depth)
    text = stage.extract(deep)
    assert all(sentence in text for sentence in SENTENCES)


@pytest.mark.parametrize("stage", ENGINES)
def test_a_page_nested_too_deeply_is_dropped_with_its_depth(stage):
    removal = only_removal(stage, page("<div>" * 50_000 + "text" + "</div>" * 50_000).encode())
    assert (removal.rule, removal.value, removal.threshold) == ("too_deep", 50_000, 10_000)
    strict = dataclasses.replace(stage, max_depth=300)
    assert only_removal(strict, page("<b>" * 400 + "text").encode()).rule == "too_deep"
    assert strict.extract(ARTICLE)


def test_tags_that_need_no_closing_do_not_count_as_depth():
    assert tag_depth(("<br><img src='x'><p>text<hr><input><meta><link>" * 1000).encode()) == 0


@pytest.mark.parametrize("stage", ENGINES)
def test_control_characters_do_not_cost_the_page_and_do_not_reach_the_text(stage):
    text = stage.extract(ARTICLE.replace("number 3", "num\x01ber\x0c3\x00").replace("number 4", "number\x1f 4"))
    assert SENTENCES[5] in text
    assert not set(text) & {chr(c) for c in range(32) if c != 10}


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
def test_joiners_stay_as_characters_and_as_entities(stage, joiner):
    names = {"\u200c": ["&zwnj;", "&#8204;", "&#x200C;"], "\u200d": ["&zwj;", "&#8205;", "&#x200d;"]}[joiner]
    for written in (joiner, *names):
        text = stage.extract(ARTICLE.replace("number 3", f"می{written}خواهم 3"))
        assert f"می{joiner}خواهم 3" in text


@pytest.mark.parametrize("stage", ENGINES[:2])
def test_letters_that_stand_in_for_joiners_are_never_ones_of_the_page(stage):
    html = ARTICLE.replace("number 3", f"a\u200cb {_STAND_INS[0]} {_STAND_INS[2]}")
    assert f"a\u200cb {_STAND_INS[0]} {_STAND_INS[2]}" in stage.extract(html)
    full = ARTICLE.replace("number 3", f"a\u200cb {_STAND_INS}")
    assert _STAND_INS in stage.extract(full)


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("reference", ["&#1;", "&#x1F;", "&#xFFFE;", "&#0;", "&#xd800;", "&#55555;"])
def test_references_to_forbidden_characters_do_not_cost_the_page(stage, reference):
    text = stage.extract(ARTICLE.replace("number 3", f"num{reference}ber 3"))
    assert SENTENCES[3] in text
    assert SENTENCES[5] in text


def test_other_references_stay():
    assert scrub("&#10;&#x41;&#12345;&#x1F600;&#133;") == "&#10;&#x41;&#12345;&#x1F600;&#133;"


@pytest.mark.parametrize("stage", ENGINES)
def test_a_lone_surrogate_does_not_cost_the_page(stage):
    assert SENTENCES[5] in stage.extract(ARTICLE.replace("number 3", "\ud800"))


@pytest.mark.parametrize("stage", ENGINES)
def test_the_same_page_gives_the_same_text_whatever_came_before(stage):
    other = ARTICLE.replace("bridges", "tunnels")
    first = stage.extract(ARTICLE)
    for _ in range(4):
        stage.extract(other)
        assert stage.extract(ARTICLE) == first


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("html", ["", "<", "<" * 10_000, "\x00", "&" * 1000, "<a" * 1000, "plain words", "<![CDATA["])
def test_hostile_pages_crash_nothing(stage, html):
    assert stage.extract(html) is None or isinstance(stage.extract(html), str)


@pytest.mark.parametrize(
    ("parameters", "key"),
    [
        ({"engine": "resiliparse", "fast": True}, "fast"),
        ({"engine": "best", "fast": True}, "fast"),
        ({"engine": "resiliparse", "format": "markdown"}, "format"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"min_bytes": 20_000_000}, "min_bytes"),
        ({"max_depth": 0}, "max_depth"),
        ({"metadata": ("titel",)}, "metadata"),
        ({"only_languages": ("english",)}, "only_languages"),
    ],
)
def test_parameters_that_cannot_work_are_refused_by_name(parameters, key):
    with pytest.raises(StageFault) as fault:
        Extract(**parameters).check()
    assert fault.value.key == key


def test_a_page_that_is_too_small_is_dropped_with_its_size():
    removal = only_removal(Extract(min_bytes=1000), b"<html><p>short</p></html>")
    assert (removal.rule, removal.value, removal.threshold) == ("page_too_small", 25, 1000)


def test_the_column_extracted_by_names_engine_and_kind_of_page():
    def by(stage, html):
        return stage.apply(batch(html.encode())).kept.column("extracted_by")

    assert by(Extract(), ARTICLE.replace("<head>", "<head><meta property='og:type' content='article'>")) == [
        "trafilatura:article"
    ]
    assert by(Extract(engine="trafilatura"), ARTICLE) == ["trafilatura"]
    assert by(Extract(engine="resiliparse"), ARTICLE) == ["resiliparse"]


def real_pages(count):
    archive = published.DATA / "extract-trafilatura/pages.tar.zst"
    if not archive.is_file():
        pytest.skip("no real pages here")
    raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(archive.open("rb"))
    with tarfile.open(fileobj=io.BytesIO(raw.read())) as tar:
        names = sorted(m.name for m in tar if m.isfile() and m.name.endswith(".html"))
        return [tar.extractfile(name).read().decode("utf-8", "replace") for name in names[:: len(names) // count]]


@pytest.mark.real
def test_the_text_of_real_pages_is_the_librarys_but_for_joiners_and_controls():
    stage = Extract(engine="trafilatura")
    for html in real_pages(60):
        theirs = trafilatura.extract(html, include_comments=False) or ""
        ours = stage.extract(html) or ""
        plain = ours.replace("\u200c", "").replace("\u200d", "")
        assert plain == theirs.translate(module._CONTROL).strip()


@pytest.mark.real
def test_no_real_page_is_taken_for_one_nested_too_deeply():
    for html in real_pages(200):
        assert not isinstance(Extract(engine="resiliparse", max_depth=200)._extract(html), Drop)


def test_how_much_of_a_page_is_damaged_is_a_column_and_can_be_a_rule():
    damaged = ARTICLE.replace("bridges", "bri\ufffdges").encode()
    pages = batch(ARTICLE.encode(), damaged, types=["text/html; charset=utf-8"] * 2)
    whole, hurt = Extract().apply(pages).kept.column("damaged")
    assert whole == 0.0
    assert 0 < hurt < 0.02
    outcome = Extract(max_damaged=0.0).apply(pages)
    assert [(r.rule, r.value, r.threshold) for r in outcome.removed] == [("damaged", hurt, 0.0)]
