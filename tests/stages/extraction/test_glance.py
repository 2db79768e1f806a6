"""What is settled before the costly extraction: addresses on a list, sizes, and languages that nobody asked for."""

import dataclasses
import gzip

import pytest

from pipeline.documents import Document
from pipeline.stage import Drop, StageFault
from stages.extraction.addresses import listed, listed_as
from stages.extraction.extract import Extract
from stages.extraction.quick import certain_language
from tests.stages.extraction.pages import ARTICLE, LONG, page

GERMAN = "Die Brücke über den Fluss ist eine der ältesten des Landes, und viele Menschen gehen jeden Tag über sie. "


def in_language(code, text):
    html = page("".join(f"<p>{text}</p>" for _ in range(8)))
    return html.replace("<html>", f"<html lang='{code}'>") if code else html


@pytest.mark.parametrize(
    ("html", "language"),
    [
        (in_language("de", GERMAN), "de"),
        (in_language("de-AT", GERMAN), "de"),
        (in_language("en", LONG), "en"),
        (in_language("en", GERMAN), None),
        (in_language(None, GERMAN), None),
        (in_language("de", "Kurz."), None),
        ("", None),
        ("<html lang=de>" + "<p>123 456 789 012 345 678 901 234 567 890 123 456</p>" * 20, None),
    ],
)
def test_a_language_is_certain_only_where_declaration_and_text_agree(html, language):
    assert certain_language(html) == language


def test_a_page_certainly_in_another_language_is_dropped_unextracted():
    stage = Extract(only_languages=("en",))
    verdict = stage.judge(Document("", raw=in_language("de", GERMAN).encode()))
    assert (verdict.rule, verdict.detail) == ("quick_language", "de")
    for html in (in_language("en", GERMAN), in_language("en", LONG), ARTICLE):
        assert not isinstance(stage.judge(Document("", raw=html.encode())), Drop)


@pytest.fixture
def hosts(tmp_path):
    path = tmp_path / "hosts.txt"
    path.write_text("# unwanted\nspam.example\nwww.mixed.example/ads  # only this part\n", "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("https://spam.example/a", "spam.example"),
        ("http://www.spam.example:8080", "spam.example"),
        ("https://deep.below.spam.example/?q=1", "spam.example"),
        ("https://notspam.example/", None),
        ("https://mixed.example/ads/1", "mixed.example/ads"),
        ("https://mixed.example/adsense", None),
        ("https://mixed.example/", None),
        ("https://[broken", None),
        ("no address", None),
        ("", None),
    ],
)
def test_a_list_covers_a_host_with_all_below_it_and_the_start_of_an_address(hosts, url, entry):
    assert listed_as(url, listed((hosts,))) == entry


def test_a_page_of_a_listed_address_is_dropped_with_the_entry(hosts):
    stage = Extract(skip_addresses=(hosts,))
    stage.check()
    verdict = stage.judge(Document("", raw=ARTICLE.encode(), url="https://www.spam.example/x"))
    assert (verdict.rule, verdict.detail) == ("listed_address", "spam.example")
    assert not isinstance(stage.judge(Document("", raw=ARTICLE.encode(), url="https://other.example")), Drop)
    assert not isinstance(stage.judge(Document("", raw=ARTICLE.encode())), Drop)


def test_another_list_is_another_stage(hosts, tmp_path):
    other = tmp_path / "other.txt.gz"
    other.write_bytes(gzip.compress(b"other.example"))
    stage = Extract(skip_addresses=(hosts,))
    assert listed((str(other),)) == {"other.example"}
    assert dataclasses.replace(stage, skip_addresses=(str(other),)).fingerprint() != stage.fingerprint()


@pytest.mark.parametrize("content", [b"two words.example", b"nohost", b"\xff\xfe", b"\x1f\x8bbroken"])
def test_what_is_no_list_is_refused_with_its_file(tmp_path, content):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(StageFault, match=r"list\.txt"):
        Extract(skip_addresses=(str(path),)).check()
