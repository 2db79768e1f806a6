"""The page of a run: its charts' laws, and that what it says of a run is what its files say."""

import itertools
import json
import re
from collections import Counter
from html.parser import HTMLParser

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokenmill.commands.report
from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder, plan_run
from tokenmill.cli import main
from tokenmill.products import add_products
from tokenmill.report import html, svg
from tokenmill.report import page as whole
from tokenmill.report.composition import LENGTH_NAMES, count, registered, spread
from tokenmill.report.page import page_of
from tokenmill.report.sections.tokens import readable

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(NUMBERS, max_size=12))
def test_labels_are_never_nearer_than_the_gap_and_keep_their_order(wanted):
    placed = svg.apart(wanted, 15, 0, 200)
    assert len(placed) == len(wanted)
    in_order = [placed[n] for n in sorted(range(len(wanted)), key=lambda n: (wanted[n], n))]
    assert all(b - a >= 15 - 1e-6 for a, b in itertools.pairwise(in_order))
    assert all(place >= -1e-6 for place in placed)
    if 15 * (len(wanted) - 1) <= 200:
        assert all(place <= 200 + 1e-6 for place in placed)


def test_labels_that_are_apart_stay_where_they_are():
    assert svg.apart([10, 100, 40], 15, 0, 200) == [10, 100, 40]


@given(NUMBERS, st.floats(1e-6, 1e6))
def test_ticks_are_round_and_inside(low, span):
    high = low + span
    ticks = svg.round_ticks(low, high)
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    assert len(ticks) <= 9
    if len(ticks) > 1:
        step = ticks[1] - ticks[0]
        mantissa = float(f"{step:.3e}".partition("e")[0])
        assert mantissa in (1, 2, 5) or abs(low) > 1e8 * span or abs(step - round(step, 6)) < slack


class Texts(HTMLParser):
    """Gathers (x, y, anchor, text) of each text of an SVG."""

    def __init__(self):
        super().__init__()
        self.found, self.now = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "text":
            about = dict(attrs)
            self.now = (float(about["x"]), float(about["y"]), about["text-anchor"])

    def handle_data(self, data):
        if self.now:
            self.found.append((*self.now, data))
            self.now = None


def boxes(drawn):
    texts = Texts()
    texts.feed(drawn)
    for x, y, anchor, said in texts.found:
        width = svg.text_width(said)
        left = x - {"start": 0, "middle": 0.5, "end": 1}[anchor] * width
        yield left, left + width, y - 9, y + 3, said


@given(
    st.dictionaries(st.text("abcdefgh日本", min_size=1, max_size=12), st.floats(0.1, 9.0), min_size=1, max_size=5),
    st.lists(st.sampled_from([2**n for n in range(8, 20)]), min_size=1, max_size=8, unique=True),
)
def test_no_label_of_a_chart_stands_on_another_or_outside(ends, sizes):
    series = [(name, [(float(size), end + size / 1e6) for size in sorted(sizes)]) for name, end in ends.items()]
    found = list(boxes(svg.lines(series, "vocabulary size", "bytes per token")))
    for n, a in enumerate(found):
        assert a[0] >= -1, a
        assert a[1] <= svg.WIDTH + 1, a
        for b in found[n + 1 :]:
            assert min(a[1], b[1]) - max(a[0], b[0]) <= 1 or min(a[3], b[3]) - max(a[2], b[2]) <= 1, (a, b)


@pytest.mark.parametrize(
    ("host", "said"),
    [("www.a.example", "a.example"), ("a.example", "a.example"), ("x.y.co.uk", "y.co.uk"), ("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("", "")],
)  # fmt: skip
def test_a_registered_domain_is_two_labels_or_three_behind_a_second_level(host, said):
    assert registered(host) == said


@pytest.mark.parametrize(
    ("token", "said"),
    [("Ġmorn", '"␣morn"'), ("Ã©", '"é"'), ("ŃĲ", "<AD 90>"), ("<|end|>", '"<|end|>"'), ("日", '"日"')],
)
def test_a_token_is_shown_as_the_text_that_it_is(token, said):
    assert readable(token) == said


@given(st.integers(0, 3000), st.integers(2, 50))
def test_a_sample_of_files_is_spread_over_all_and_has_no_file_twice(number, most):
    names = [str(n) for n in range(number)]
    found = spread(names, most)
    assert len(found) == len(set(found)) == min(number, most)
    assert not found or (found[0], found[-1]) == (names[0], names[-1])


def test_what_mattered_in_a_text_is_marked_and_escaped():
    assert html.excerpt("a b <i> c", 50, "<i>") == "<blockquote>a b <mark>&lt;i&gt;</mark> c</blockquote>"
    assert "<mark>needle</mark>" in html.excerpt("x " * 5000 + "needle", 80, "needle")


LANGUAGES = {"en": "the river and the mill have been of use to that town with the old bridge and the road ",
             "de": "der Fluss und die Mühle sind der Stadt mit der alten Brücke und dem Weg von Nutzen gewesen "}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    rows = [
        {"id": f"d{n}", "url": f"https://www.site{n % 3}.example/{n}", "date": f"202{n % 2}-01-01",
         "source": "small" if n == 2 else "web", "text": f"{LANGUAGES['de' if n % 5 == 0 else 'en'] * (n % 7)}{'same' if n > 50 else n}"}
        for n in range(60)
    ]  # fmt: skip
    (place / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"text": 3}\n')
    stages = [
        {"use": "language", "keep": ["en"], "min_score": 0.2},
        {"use": "gopher_quality", "words": "whitespace", "min_doc_words": 60},
        {"use": "exact_dedup"},
    ]
    plan = plan_run(build_recipe({"name": "t", "input": {"paths": "in.jsonl"}, "stage": stages, "limits": {"failed_share": 1.0}}, place))  # fmt: skip
    execute(plan, local_folder(place / "out"), workers=1, executor=run_here, finish=add_products)
    return place / "out"


@pytest.mark.parametrize("keep", [["en"], ["sw"]], ids=["nothing read", "nothing kept"])
@pytest.mark.parametrize("quality", [True, False])
def test_a_run_that_keeps_nothing_has_a_page_all_the_same(tmp_path, keep, quality):
    rows = [{"id": str(n), "text": LANGUAGES["de"] * 3} for n in range(4 if keep == ["sw"] else 0)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    stages = [{"use": "language", "keep": keep}, *([{"use": "gopher_quality"}] if quality else [])]
    plan = plan_run(build_recipe({"name": "t", "input": {"paths": "in.jsonl"}, "stage": stages}, tmp_path))
    done = execute(plan, local_folder(tmp_path / "out"), workers=1, executor=run_here, finish=add_products)
    assert done.summary.faults == {}
    assert "<h1>t: " in page_of(local_folder(tmp_path / "out"))


def sections(text):
    """Return what stands below each heading, without its tags."""
    parts = re.split(r"<h2>(.*?)</h2>", text)
    return {parts[n]: re.sub(r"<[^>]+>", " ", parts[n + 1]) for n in range(1, len(parts) - 1, 2)}


def test_the_page_that_a_run_publishes_is_the_one_that_is_made_of_it_again(run):
    assert (run / "report.html").read_text("utf-8") == page_of(local_folder(run))


def test_what_vanished_wholly_is_named_in_a_heading(run):
    headings = list(sections(page_of(local_folder(run))))
    assert any("othing is left of source small" in said and "language de" in said for said in headings), headings


def test_before_and_after_are_counted_as_the_files_have_them(run):
    ledger = [r for f in sorted(run.glob("*/ledger/*.parquet")) for r in pq.read_table(f).to_pylist()]
    kept = pl.concat([pl.read_parquet(f) for f in run.glob("data/*.parquet")])
    domains = Counter(
        u.split("/")[2].removeprefix("www.") for u in [*kept["url"], *[r["url"] for r in ledger if r["url"]]]
    )
    told = next(body for said, body in sections(page_of(local_folder(run))).items() if "othing is left" in said)
    for domain, number in domains.items():
        after = sum(domain in url for url in kept["url"])
        assert re.search(rf"{re.escape(domain)}\s+{number}\s+{after}\s", told), (domain, number, after)


def test_the_histogram_of_a_rule_counts_every_document_that_came_and_every_one_removed(run):
    text = page_of(local_folder(run))
    summary = json.loads((run / "summary.json").read_text())
    number = summary["dropped"]["gopher_quality"]["gopher_short_doc"]
    came = next(row["documents_in"] for row in summary["stages"] if row["stage"] == "gopher_quality")
    assert f"{number} of the {came} documents that came here" in text
    part = text.partition("gopher_short_doc, ")[2]
    table = re.findall(
        r"<tr><td>[^<]*</td><td>[^<]*</td><td>(\d+)</td><td>(\d+)</td></tr>", part.partition("</details>")[0]
    )
    assert (sum(int(a) for a, _ in table), sum(int(b) for _, b in table)) == (came, number)
    assert f"removed &lt; {60}" in part


def test_documents_from_both_sides_of_a_threshold_are_those_nearest_to_it(run):
    part = (
        page_of(local_folder(run))
        .partition("gopher_short_doc, ")[2]
        .partition("Documents at the threshold")[2]
        .partition("</details>")[0]
    )
    removed = [float(x) for x in re.findall(r"removed; measured ([\d.]+)", part)]
    kept = [float(x) for x in re.findall(r"kept; measured ([\d.]+)", part)]
    lost = [
        r["value"]
        for f in run.glob("*/ledger/*.parquet")
        for r in pq.read_table(f).to_pylist()
        if r["rule"] == "gopher_short_doc"
    ]
    assert removed == sorted(lost, reverse=True)[:3]
    assert len(kept) == 3
    assert min(kept) >= 60


def test_a_page_that_would_be_too_large_leaves_out_its_longest_section_and_says_so(run, monkeypatch):
    monkeypatch.setattr(whole, "LARGEST", 15_000)
    text = page_of(local_folder(run))
    assert len(text.encode()) <= 15_000
    assert "Left out" in text


def test_a_failed_document_is_told_with_its_place(run):
    told = next(body for said, body in sections(page_of(local_folder(run))).items() if "of CPU" in said)
    assert re.search(r"in\.jsonl@\d+", told)


def test_lengths_are_counted_in_bytes(tmp_path):
    pl.DataFrame({"text": ["a" * 999, "é" * 500, "x" * 100_000]}).write_parquet(tmp_path / "part-0.parquet")
    found = count(local_folder(tmp_path), ["part-0.parquet"]).by["length"]
    assert found == {LENGTH_NAMES[0]: 1, LENGTH_NAMES[1]: 1, LENGTH_NAMES[-1]: 1}


def test_the_page_is_opened_in_a_browser_where_there_is_one(run, monkeypatch, capsys):
    asked = []
    monkeypatch.setenv("BROWSER", "false")
    monkeypatch.setattr(tokenmill.commands.report.webbrowser, "open", lambda url: asked.append(url) or len(asked) == 1)
    assert main(["report", str(run), "--open"]) == 0
    assert asked == [(run / "report.html").as_uri()]
    assert main(["report", str(run), "--open"]) == 2
    assert "no browser could be started" in capsys.readouterr().err
