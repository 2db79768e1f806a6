"""Addresses on lists, whatever form they come in."""

import gzip

import pytest

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality.url_filter import UrlFilter, canonical, canonical_host


def rule(url, **parameters):
    verdict = UrlFilter(**parameters).judge(Document("text", url=url))
    return verdict and (verdict.rule, verdict.detail)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "https://WWW.Example.ORG:8080/",
        "//a.b.example.org./",
        "http://user:pass@example.org",
        "example.org/x",
    ],
)
def test_a_listed_domain_covers_all_below_it_in_whatever_form(url):
    assert rule(url, domains=("example.org",)) == ("domain", "example.org")


def test_a_domain_that_only_ends_alike_is_another():
    assert rule("http://notexample.org/", domains=("example.org",)) is None


def test_hosts_of_other_scripts_are_compared_in_punycode():
    assert rule("https://xn--bcher-kva.example/", domains=("Bücher.example",)) == ("domain", "xn--bcher-kva.example")
    assert canonical_host("www.Bücher.example:80") == "xn--bcher-kva.example"


def test_an_address_is_the_same_without_scheme_www_fragment_and_slash():
    assert rule("http://www.a.org/B/#top", urls=("https://a.org/B",)) == ("url", "a.org/B")
    assert rule("http://a.org/b", urls=("https://a.org/B",)) is None


def test_one_hard_word_or_two_soft_ones_are_enough():
    assert rule("http://a.org/Live-CASINO", words=("casino",)) == ("word", "casino")
    assert rule("http://a.org/casinos", words=("casino",)) is None
    assert rule("http://a.org/hot/live", soft_words=("hot", "live")) == ("soft_words", "hot live")
    assert rule("http://a.org/hot", soft_words=("hot", "live")) is None


def test_a_piece_of_text_is_found_behind_its_escapes():
    assert rule("http://a.org/my%2Dpiece", substrings=("Y-pie",)) == ("substring", "y-pie")


@pytest.mark.parametrize("url", [None, "", "http://[1::", "\x00", "мир"])
def test_an_address_that_is_none_drops_nothing(url):
    assert rule(url, domains=("example.org",), words=("a",), substrings=("zz",)) is None


def test_lists_come_from_files_and_from_packages(tmp_path):
    file = tmp_path / "domains.txt.gz"
    file.write_bytes(gzip.compress(b"# a remark\nexample.org # here too\n\nexample.net\n"))
    stage = UrlFilter(domain_lists=(str(file),), word_lists=("package://regex/__init__.py",))
    stage.check()
    assert stage.judge(Document("", url="http://a.example.net")).rule == "domain"
    assert set(stage.resources()) == {"domain_lists 0", "word_lists 0"}
    before = stage.resources()
    file.write_bytes(b"example.com\n")
    assert stage.resources() != before


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "no entry"), (b"\xff\xfe\x00", "UTF-8"), (b"\x1f\x8b\x08broken", "gzip")]
)
def test_a_list_that_is_none_is_refused(tmp_path, content, problem):
    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(StageFault, match=problem):
        UrlFilter(domain_lists=(str(tmp_path / "list.txt"),)).check()


def test_what_cannot_work_is_refused():
    with pytest.raises(StageFault, match="nothing is listed"):
        UrlFilter().check()
    with pytest.raises(StageFault, match="not_installed"):
        UrlFilter(word_lists=("package://not_installed_anywhere/a.txt",)).check()
    with pytest.raises(StageFault, match="no host"):
        UrlFilter(domains=("//",)).check()


def test_the_canonical_form_is_its_own():
    for url in ("HTTP://WWW.A.org:80/x/?b=1#c", "ü.example/ü", "a"):
        assert canonical(canonical(url)[1]) == canonical(url)
