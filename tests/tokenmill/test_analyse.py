"""Analyse: signals and thresholds of documents before a filter is chosen."""

import html.parser
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.documents import Document
from pipeline.readers import InputFile
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from tests.tokenmill.test_what_if import document
from tokenmill.analyse import sample as sampling
from tokenmill.analyse.distributions import edges_of
from tokenmill.analyse.sample import take
from tokenmill.cli import main
from tokenmill.report import svg

TEXTS = [*map(document, range(60)), "", '<script>alert("x")</script> & <b>bold</b>' * 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyse")
    number = len(TEXTS)
    columns = {
        "id": [str(n) for n in range(number)],
        "text": TEXTS,
        "source": ["web" if n % 3 else "books" for n in range(number)],
        "language": ["de" if n % 5 == 0 else "en" for n in range(number)],
    }
    pq.write_table(pa.table(columns), folder / "in.parquet")
    (folder / "plain.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS if text))
    (folder / "r.toml").write_text(
        'name = "looked at"\n[input]\npaths = ["in.parquet"]\n[[stage]]\nuse = "gopher_quality"\nmin_doc_words = 40\n'
        'words = "whitespace"\n[[stage]]\nuse = "exact_dedup"\n[[stage]]\nuse = "fineweb"\nwords = "whitespace"\n'
    )
    return folder


@pytest.fixture(scope="module")
def looked_at(folder):
    """What ``analyse`` of the recipe prints, as JSON, and its page."""
    import contextlib
    import io

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert (
            main(["analyse", str(folder / "r.toml"), "--json", "--workers", "1", "--out", str(folder / "page.html")])
            == 0
        )
    return json.loads(said.getvalue()), (folder / "page.html").read_text()


def test_the_share_that_a_threshold_would_remove_is_that_of_documents_measured_one_by_one(looked_at):
    found, _ = looked_at
    stage = GopherQuality(min_doc_words=40, words="whitespace")
    texts = [text for text in TEXTS]
    measured = np.array([stage.measure(Document(text)) for text in texts], float)
    (about,) = [s for s in found["signals"] if (s["stage"], s["signal"]) == ("gopher_quality", "words")]
    (rule,) = [r for r in about["rules"] if r["rule"] == "gopher_short_doc"]
    broken = measured[:, 0] < 40
    assert found["documents"] == len(TEXTS)
    assert rule["removes"] == pytest.approx(broken.mean())
    assert rule["by_source"]["books"] == pytest.approx(broken[::3].mean())
    assert rule["by_language"]["de"] == pytest.approx(broken[::5].mean())
    assert about["quantiles"]["0.5"] == pytest.approx(np.median(measured[:, 0]))
    assert found["stages"]["gopher_quality"]["removes"] == pytest.approx((stage.first_broken(measured)[0] != -1).mean())


def test_each_rule_set_looks_at_the_text_as_it_is(looked_at):
    found, _ = looked_at
    stage = FineWeb(words="whitespace")
    measured = np.array([stage.measure(Document(text)) for text in TEXTS], float)
    assert found["stages"]["fineweb"]["removes"] == pytest.approx((stage.first_broken(measured)[0] != -1).mean())


def test_examples_are_the_nearest_on_both_sides_of_a_threshold(looked_at):
    found, _ = looked_at
    (about,) = [s for s in found["signals"] if (s["stage"], s["signal"]) == ("gopher_quality", "words")]
    examples = about["rules"][0]["examples"]
    stage = GopherQuality(words="whitespace")
    counts = [stage.measure(Document(text))[0] for text in TEXTS]
    assert [row["value"] for row in examples["removed"]] == sorted((c for c in counts if c < 40), reverse=True)[:2]
    assert [row["value"] for row in examples["kept"]] == sorted(c for c in counts if c >= 40)[:2]


def test_the_page_is_one_file_without_script_and_escapes_documents(looked_at):
    _, page = looked_at
    tags = set()

    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)
            assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    Tags().feed(page)
    assert {"script", "link", "img", "iframe", "b"} & tags == {"b"}
    assert "Content-Security-Policy" in page
    assert "<b>bold" not in page
    for word in ("gopher_short_doc", "fineweb.line_punct_ratio", "svg", "looked at"):
        assert word in page


def test_documents_without_a_language_are_given_one_and_the_published_rule_sets_are_looked_at(folder, capsys):
    assert main(["analyse", str(folder / "plain.jsonl"), "--sample", "20", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    for name in (
        "20 documents, sampled from 61",
        "gopher_repetition",
        "gopher_quality",
        "c4",
        "fineweb",
        "gopher_short_doc",
    ):
        assert name in said


def test_the_sample_depends_on_the_inputs_alone_and_a_part_of_each_piece_is_taken(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "PIECES", 4)
    files = []
    for number in range(8):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps({"id": f"{number}-{n}", "text": "t"}) + "\n" for n in range(50)))
        files.append(InputFile(str(path), path.name))
    first, other = take(files, 20), take(files[::-1], 20)
    assert first.table.equals(other.table)
    ids = first.table["id"].to_pylist()
    assert len(set(ids)) == 20
    assert sorted(np.unique([i.partition("-")[0] for i in ids], return_counts=True)[1]) == [5, 5, 5, 5]
    assert (first.read, first.pieces, first.of) == (200, 4, 8)
    assert take(files, 1000).table.num_rows == 400


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.jsonl"], "nothing matches 'nowhere.jsonl'"),
        (["plain.jsonl", "--sample", "0"], "--sample must be at least 1"),
        (["empty.jsonl"], "there is no document"),
        (["r.toml", "plain.jsonl"], "give one recipe"),
        (["plain.jsonl", "--out", "no/such/folder.html"], "cannot write"),
    ],
    ids=["no file", "no sample", "empty", "recipe and file", "page"],
)
def test_what_cannot_be_analysed_is_said_in_a_line(folder, capsys, monkeypatch, arguments, said):
    monkeypatch.chdir(folder)
    (folder / "empty.jsonl").write_text("")
    assert main(["analyse", *arguments, "--workers", "1"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("values", [[], [np.nan], [3.0], [0.0, 1.0], [1.0, 1e6], [-5.0, 5.0], [np.inf, 1.0]], ids=str)
@pytest.mark.parametrize("marks", [[], [2.0], [float("nan"), 100.0]], ids=str)
def test_a_histogram_can_be_drawn_of_any_values_and_shows_its_marks(values, marks):
    edges, grows = edges_of(np.array(values), marks)
    assert (np.diff(edges) > 0).all()
    for mark in marks:
        assert not np.isfinite(mark) or edges[0] <= mark <= edges[-1]
    drawn = svg.histogram(edges.tolist(), [1] * (len(edges) - 1), [(m, "t") for m in marks if m == m], grows)
    assert "nan" not in re.sub(r">[^<]*<", "><", drawn)
