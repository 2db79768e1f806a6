"""The recipe in sample_data/ run as a newcomer runs it, held against the table of what is planted, line by line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import pathlib
import runpy
import subprocess
import sys
import zlib
from collections import Counter
from dataclasses import dataclass

import polars as pl
import pyarrow.parquet as pq
import pytest
import zstandard

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "sample_data"
PLANTED = list(
    csv.DictReader((SAMPLE / "planted.tsv").open(encoding="utf-8", newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
)
KEPT_LANGUAGES = ("ar", "de", "en", "es", "fr", "ja", "pl", "ru")
ARTICLES = sorted(path for path in (SAMPLE / "articles").glob("*/*.txt") if path.parent.name in KEPT_LANGUAGES)


@dataclass(frozen=True)
class Run:
    """What a run left: its ledger, its final corpus and its summary."""

    folder: pathlib.Path
    ledger: pl.DataFrame
    corpus: pl.DataFrame
    summary: dict

    def of(self, frame: pl.DataFrame, document: str) -> pl.DataFrame:
        """Return the rows of `frame` about `document`, an id or an address."""
        return frame.filter((pl.col("id") == document) | (pl.col("url").fill_null("") == document))


def _execute(folder: pathlib.Path, workers: int) -> None:
    """Run the sample recipe into `folder`, as a user does from the shell."""
    command = [sys.executable, "-m", "tokenmill", "run", "sample_data/recipe.toml", "--out", str(folder)]
    done = subprocess.run([*command, "--workers", str(workers)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("sample") / "run"
    _execute(folder, workers=2)
    ledger = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*/ledger/part-*.parquet"))])
    corpus = pl.concat([pl.read_parquet(path) for path in sorted((folder / "data").glob("*.parquet"))])
    return Run(folder, ledger, corpus, json.loads((folder / "summary.json").read_text("utf-8")))


def _name(row: dict[str, str]) -> str:
    return f"{row['what'][:50]}, {row['rule'] or row['must']}"


@pytest.mark.parametrize("row", PLANTED, ids=_name)
def test_what_is_planted_meets_its_fate(run: Run, row: dict[str, str]):
    found = run.of(run.ledger, row["document"])
    gone = found.filter(pl.col("kind") != "span")
    kept = run.of(run.corpus, row["document"])
    detail = row["detail"].replace("\\0", "\0")
    if row["must"] == "absent":
        assert (found.rows(), kept.rows()) == ([], [])
    elif row["must"] == "kept":
        assert gone.rows() == []
        assert [text for text in kept["text"] if detail in text], f"not in the corpus with {detail!r}"
    elif row["must"] == "span":
        spans = found.filter((pl.col("stage") == row["stage"]) & (pl.col("rule") == row["rule"]))
        assert [text[: len(detail)] for text in spans["text"]] == [detail]
        assert spans["kind"].to_list() == ["span"]
        assert [detail in text for text in kept["text"]] == [False]
    else:
        kind = {"dropped": "document", "failed": "failed"}[row["must"]]
        assert gone.select("stage", "rule", "kind").rows() == [(row["stage"], row["rule"], kind)]
        assert detail in (gone["detail"][0] or "")
        assert kept.rows() == []
        if row["value"]:
            assert gone["value"][0] == pytest.approx(float(row["value"]), abs=5e-5)


def test_nothing_but_the_planted_is_lost_except_books_that_the_mix_leaves_out(run: Run):
    planted = {row["document"] for row in PLANTED}
    gone = run.ledger.filter(pl.col("kind") != "span").filter(
        ~pl.col("id").is_in(planted) & ~pl.col("url").fill_null("").is_in(planted)
    )
    assert set(gone.select("stage", "rule", "source").rows()) == {("mix", "not_sampled", "books")}


def test_dropped_documents_carry_what_was_measured(run: Run):
    unmeasured = run.ledger.filter(
        (pl.col("kind") == "document") & (pl.col("value").is_null() | pl.col("threshold").is_null())
    )
    # these compare no number
    assert set(unmeasured["rule"]) <= {"binary_content", "lorem_ipsum", "curly_bracket"}


def test_the_summary_balances_and_agrees_with_ledger_and_corpus(run: Run):
    summary = run.summary
    dropped = {(stage, rule): n for stage, rules in summary["dropped"].items() for rule, n in rules.items() if n}
    documents = run.ledger.filter(pl.col("kind") == "document")
    assert Counter(documents.select("stage", "rule").rows()) == dropped
    assert summary["failed"] == (run.ledger["kind"] == "failed").sum()
    assert summary["kept"] == len(run.corpus)
    assert summary["balanced"] is True
    assert summary["read"] == summary["kept"] + sum(dropped.values()) + summary["failed"]


@pytest.mark.parametrize("path", ARTICLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_article_comes_through_whole(run: Run, path: pathlib.Path):
    _, *paragraphs = [" ".join(part.split()) for part in path.read_text("utf-8").split("\n\n") if part.strip()]
    first = path.read_text("utf-8").split("\n", 2)[2].split("\n\n")[0].strip()
    name = f"common-notebook.example/{path.stem}"
    [text] = run.corpus.filter(pl.col("url").fill_null("").str.ends_with(name))["text"]
    lines = [" ".join(line.split()) for line in text.split("\n")]
    assert lines[-len(paragraphs) :] == paragraphs
    assert " ".join(first.split()) in lines
    assert len(lines) <= len(paragraphs) + 1  # the heading, which C4's rules take out where it has two words


def test_no_menu_banner_comment_or_footer_comes_through(run: Run):
    said = runpy.run_path(str(SAMPLE / "making" / "phrases.py"))["PHRASES"]
    around = {
        text
        for say in said.values()
        for value in say.values()
        for text in ([value] if isinstance(value, str) else value)
    }
    lines = {line.strip() for text in run.corpus["text"] for line in text.split("\n")}
    assert not around & lines
    sentences = {text for text in around if len(text) > 30 or (len(text) > 12 and not text.isascii())}
    assert not [s for s in sentences for text in run.corpus["text"] if s in text]


def test_a_page_cut_by_the_crawler_says_so(run: Run):
    [row] = [row for row in PLANTED if "WARC-Truncated" in row["what"]]
    assert run.of(run.corpus, row["document"])["truncated"].to_list() == ["length"]


def test_charsets_and_how_they_were_found_are_recorded(run: Run):
    def charset(name: str) -> tuple[str, str]:
        return run.of(run.corpus, f"https://{name}").select("charset", "charset_found_by").row(0)

    assert charset("fr.common-notebook.example/reliure")[0] == "utf-8"
    assert charset("ru.common-notebook.example/samovar") == ("windows-1251", "meta")
    assert charset("ja.common-notebook.example/chawan") == ("shift_jis", "meta")
    assert charset("pl.common-notebook.example/zegar") == ("iso-8859-2", "meta")
    assert charset("ar.common-notebook.example/bab") == ("windows-1256", "header")
    assert charset("es.common-notebook.example/acequia") == ("utf-16le", "bom")


def test_nested_columns_of_parquet_are_carried_to_the_end(run: Run):
    pages = run.corpus.filter(pl.col("file") == "crawl/articles.parquet")
    texts = run.corpus.filter(pl.col("file") == "crawl/texts.parquet")
    assert set(pages["fetch"].struct.field("status")) == {200}
    assert all(tags[1].startswith("batch-") for tags in pages["tags"].to_list())
    assert texts["scores"].struct.field("votes").to_list() == [[1, 2]] * len(texts)


def test_every_source_and_language_is_in_the_corpus_in_its_share(run: Run):
    size = {source: sum(len(t.encode()) for t in rows["text"]) for (source,), rows in run.corpus.group_by("source")}
    assert set(size) == {"web", "books"}
    assert size["books"] / sum(size.values()) == pytest.approx(0.2, abs=0.01)
    assert set(run.corpus["language"]) == set(KEPT_LANGUAGES)
    assert sum(size.values()) > 500_000  # enough for a tokenizer of 4,096 to be more than a list of words


def test_the_budget_counts_the_corpus_at_every_vocabulary_size(run: Run):
    budget = json.loads((run.folder / "token_budget.json").read_text("utf-8"))
    assert budget["corpus"]["documents"] == len(run.corpus)
    assert budget["corpus"]["bytes"] == sum(len(text.encode()) for text in run.corpus["text"])
    sizes = [tokenizer["vocab_size"] for tokenizer in budget["tokenizers"]]
    tokens = [tokenizer["tokens"] for tokenizer in budget["tokenizers"]]
    assert sizes == [1024, 2048, 4096]
    assert tokens == sorted(tokens, reverse=True)
    counts = pl.concat([pl.read_parquet(path) for path in sorted((run.folder / "token_counts").glob("*.parquet"))])
    assert [counts[f"tokens_{size}"].sum() for size in sizes] == tokens


def test_the_plan_is_written_beside_the_budget(run: Run):
    assert json.loads((run.folder / "plan.json").read_text("utf-8"))


def test_one_worker_leaves_the_same_bytes_as_two(run: Run, tmp_path: pathlib.Path):
    _execute(tmp_path / "alone", workers=1)

    def contents(folder: pathlib.Path) -> dict[str, str]:
        paths = [*folder.glob("**/*.parquet"), *folder.glob("*.json"), *folder.glob("tokenizer/**/*")]
        measured = ("summary.json", "manifest.json", "plan.json")  # seconds, and when
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in paths
            if path.is_file() and path.name not in measured
        }

    found = contents(run.folder)
    assert any(name.startswith("data/") for name in found)
    assert any("/ledger/" in name for name in found)
    assert contents(tmp_path / "alone") == found


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("rebuilt")
    subprocess.run([sys.executable, str(SAMPLE / "build.py"), "--out", str(folder)], check=True, cwd=folder)
    return folder


def _members(data: bytes) -> list[bytes]:
    """Return what the gzip members of `data` hold; of one that is damaged or cut, a word."""
    members, at = [], 0
    while 0 <= at < len(data):
        member = zlib.decompressobj(31)
        try:
            content = member.decompress(data[at:])
        except zlib.error:
            members.append(b"damaged")
            at = data.find(b"\x1f\x8b\x08\0", at + 1)
            continue
        members.append(content if member.eof else b"cut")
        at = len(data) - len(member.unused_data)
    return members


def _content(path: pathlib.Path) -> object:
    """Return what the file at `path` holds, whatever version of a library has packed it."""
    data = path.read_bytes()
    if path.name.endswith(".warc.gz"):
        return _members(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    return pq.read_table(path).to_pylist() if path.suffix == ".parquet" else data


@pytest.mark.parametrize(
    "name", ["planted.tsv", *sorted(f"crawl/{path.name}" for path in (SAMPLE / "crawl").iterdir())]
)
def test_the_files_are_what_their_sources_build(rebuilt: pathlib.Path, name: str):
    assert _content(SAMPLE / name) == _content(rebuilt / name)


def test_nothing_is_built_that_is_not_committed(rebuilt: pathlib.Path):
    built = {str(path.relative_to(rebuilt)) for path in rebuilt.rglob("*") if path.is_file()}
    assert built == {"planted.tsv", *(f"crawl/{path.name}" for path in (SAMPLE / "crawl").iterdir())}


def test_the_sample_stays_small():
    sizes = [path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(sizes) <= 3_000_000
