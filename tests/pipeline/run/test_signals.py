"""Signals of a run: what is measured of every document, where it is written, and that it changes nothing else."""

import dataclasses
import hashlib
import json
import pathlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

from pipeline.documents import Document
from pipeline.executors.here import run_here
from pipeline.recipe import OutputOptions
from pipeline.run import execute, local_folder, plan_run
from pipeline.run.folder import read_manifest
from pipeline.run.signals import read_signals
from pipeline.stage import DocumentStage, Drop
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from tests.pipeline.run.toy import Shout, Unique, recipe, write_jsonl

GOOD = "The cat sat with the dog number {n} and looked to the east of a house that they have."
RULES = (
    GopherQuality(min_doc_words=20, words="whitespace"),
    C4(min_num_sentences=2),
    FineWeb(short_line_thr=0.5, words="whitespace"),
)


@dataclass(frozen=True, kw_only=True)
class Fussy(DocumentStage):
    """Drops texts with an x, and fails on those with a y."""

    name: ClassVar[str] = "fussy"

    def judge(self, document: Document):
        if "y!" in document.text:
            raise ValueError("no y")
        return Drop("has_x", 1, 0) if "x!" in document.text else None


def texts(number: int) -> list[str]:
    """Return documents of which each stage drops some."""
    made = []
    for n in range(number):
        lines = (
            [GOOD.format(n=n + k) for k in range(n % 5)]
            + ["short one."] * (n % 4)
            + ["no end to this line at all"] * (n % 3)
        )
        lines += ["x!"] * (n % 7 == 0) + ["y!"] * (n % 11 == 0)
        made.append("\n".join(lines))
    return made


def corpus(folder: pathlib.Path, files: int = 3) -> pathlib.Path:
    folder.mkdir()
    for number in range(files):
        write_jsonl(folder / f"{number}.jsonl", texts(40 + number))
    return folder


def run(folder, out, stages=RULES, workers=1, signals=True, **limits):
    made = dataclasses.replace(
        recipe(folder, stages, failed_share=1.0, **limits), output=OutputOptions(signals=signals)
    )
    executor = run_here if workers == 1 else None
    return execute(plan_run(made), local_folder(out), workers=workers, executor=executor).summary


def signals(out, facts=("rule", "shard", "source")):
    folder = local_folder(out)
    manifest = read_manifest(folder)
    assert manifest is not None
    return read_signals(folder, manifest, facts)


def digests(out: pathlib.Path) -> dict[str, str]:
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(out.glob("signals/*"))}


def test_every_document_has_a_row_kept_or_dropped_and_failed(tmp_path):
    summary = run(corpus(tmp_path / "in"), tmp_path / "out", (Fussy(), *RULES))
    (step,) = signals(tmp_path / "out")
    assert step.labels == ("fussy", "gopher_quality", "c4", "fineweb")
    assert step.rows == ((1, 4),)
    assert step.table.num_rows == summary.read
    left = step.column("left")
    assert (left == -1).sum() == summary.kept
    for index, label in enumerate(step.labels):
        assert ((left == index) & (step.column("fails") != index)).sum() == sum(summary.dropped.get(label, {}).values())
    assert ((left == 0) & (step.column("fails") == 0)).sum() == summary.failed > 0


CHANGED = {
    "looser": (GopherQuality(min_doc_words=3, words="whitespace"), *RULES[1:]),
    "stricter": (GopherQuality(min_doc_words=40, words="whitespace"), *RULES[1:]),
    "in the middle": (RULES[0], C4(min_num_sentences=3), RULES[2]),
    "what is measured": (RULES[0], C4(min_num_sentences=2, split_paragraph=False), RULES[2]),
    "in the row before": (RULES[0], Fussy(), *RULES[1:]),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_parameter_leaves_what_a_first_run_with_it_leaves(tmp_path, change):
    folder, before = corpus(tmp_path / "in"), (RULES[0], Fussy(), *RULES[1:])
    run(folder, tmp_path / "out", before if change == "in the row before" else RULES)
    changed = CHANGED[change]
    if change == "in the row before":
        changed = (GopherQuality(min_doc_words=5, words="whitespace"), *changed[1:])
    run(folder, tmp_path / "out", changed)
    run(folder, tmp_path / "fresh", changed)
    assert digests(tmp_path / "out") == digests(tmp_path / "fresh")
    data = [sorted((tmp_path / place / "data").iterdir()) for place in ("out", "fresh")]
    assert [f.read_bytes() for f in data[0]] == [f.read_bytes() for f in data[1]]


def test_what_leaves_early_is_measured_once_however_often_a_threshold_changes(tmp_path, monkeypatch):
    folder, measured = corpus(tmp_path / "in"), []
    measure = FineWeb.measure
    monkeypatch.setattr(FineWeb, "measure", lambda stage, document: measured.append(1) or measure(stage, document))
    first = run(folder, tmp_path / "out")
    assert len(measured) >= first.read
    for rules in (CHANGED["looser"], RULES[:1] + CHANGED["in the middle"][1:], CHANGED["stricter"]):
        measured.clear()
        summary = run(folder, tmp_path / "out", rules)
        (row,) = [stage for stage in summary.stages if stage.stage == "fineweb"]
        came = row.documents_in
        assert 0 < came < summary.read
        assert came <= len(measured) <= came + 1  # and one text by which the stage is loaded


def test_what_left_early_is_measured_again_where_what_is_measured_has_changed(tmp_path, monkeypatch):
    folder, measured = corpus(tmp_path / "in"), []
    run(folder, tmp_path / "out")
    measure = FineWeb.measure
    monkeypatch.setattr(FineWeb, "measure", lambda stage, document: measured.append(1) or measure(stage, document))
    summary = run(folder, tmp_path / "out", CHANGED["what is measured"])
    assert len(measured) >= summary.read


def test_a_document_dropped_by_one_rule_set_is_measured_by_those_behind_it_as_if_it_had_come_there(tmp_path):
    run(corpus(tmp_path / "in", files=1), tmp_path / "out")
    (step,) = signals(tmp_path / "out")
    kept_by_all = [GopherQuality(words="whitespace"), C4().without_rules(), FineWeb(words="whitespace")]
    for row, text in enumerate(texts(40)):
        for stage in kept_by_all:
            names, values = step.signals(stage.name)
            assert names == list(stage.signal_names)
            np.testing.assert_array_equal(values[row], np.array(stage.measure(Document(text)), float))
            verdict = stage.judge(Document(text))
            if stage.name == "c4" and verdict is not None and verdict.text is not None:
                text = verdict.text


def test_a_row_names_the_line_of_the_ledger_or_the_row_of_the_shard(tmp_path):
    run(corpus(tmp_path / "in", files=1), tmp_path / "out", (Fussy(), *RULES))
    (step,) = signals(tmp_path / "out")
    (folder,) = (tmp_path / "out").glob("01-*")
    (shard,) = folder.glob("part-*.parquet")
    ledger = pq.read_table(folder / "ledger" / shard.name)
    kept = pq.read_table(shard)
    for row in step.table.select(["number", "row", "ledger", "rule"]).to_pylist():
        assert (row["row"] is None) != (row["ledger"] is None)
        if row["row"] is not None:
            assert kept["id"][row["row"]].as_py() == f"0-{row['number']}"
        else:
            assert ledger["id"][row["ledger"]].as_py() == f"0-{row['number']}"
            assert ledger["rule"][row["ledger"]].as_py() == row["rule"]


def test_rows_of_a_pass_that_only_takes_documents_out_are_those_where_the_texts_stand(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Takes(GopherQuality):
        only_drops: ClassVar[bool] = True

    stages = (Shout(), Unique(), Takes(min_doc_words=30, words="whitespace", min_stop_words=0))
    run(corpus(tmp_path / "in", files=1), tmp_path / "out", stages)
    (step,) = signals(tmp_path / "out")
    number, row = step.column("number"), step.column("row")
    assert (row[row >= 0] == number[row >= 0]).all()
    assert (row >= 0).sum() > 0


def test_signals_have_the_same_bytes_with_any_number_of_workers(tmp_path):
    folder = corpus(tmp_path / "in")
    for workers in (1, 2):
        run(folder, tmp_path / str(workers), (Fussy(), *RULES), workers=workers)
    assert digests(tmp_path / "1") == digests(tmp_path / "2") != {}


@pytest.mark.parametrize("batch_bytes", [1, 500])
def test_signals_are_the_same_however_documents_are_batched(tmp_path, batch_bytes):
    folder = corpus(tmp_path / "in")
    tables = []
    for name, size in (("one", 10_000), ("other", batch_bytes)):
        run(folder, tmp_path / name, (Fussy(), *RULES), batch_bytes=size)
        (step,) = signals(tmp_path / name)
        tables.append(step.table.drop_columns(["ledger"]).to_pandas())  # the ledger is written batch by batch
    assert tables[0].equals(tables[1])


def test_measuring_documents_that_have_left_changes_nothing_else(tmp_path):
    folder = corpus(tmp_path / "in")
    summaries = [
        run(folder, tmp_path / name, (Fussy(), *RULES), signals=asked)
        for name, asked in (("with", True), ("without", False))
    ]
    for key in ("read", "kept", "failed", "dropped", "failed_by", "spans"):
        assert getattr(summaries[0], key) == getattr(summaries[1], key)
    for glob in ("data/*", "*/ledger/*"):
        with_, without = (sorted((tmp_path / name).glob(glob)) for name in ("with", "without"))
        assert [f.read_bytes() for f in with_] == [f.read_bytes() for f in without] != []
    assert not (tmp_path / "without/signals").exists()


def test_asking_for_signals_later_makes_them_and_no_longer_asking_takes_them_away(tmp_path):
    folder = corpus(tmp_path / "in")
    run(folder, tmp_path / "out", signals=False)
    run(folder, tmp_path / "out", signals=True)
    assert len(digests(tmp_path / "out")) == 1
    run(folder, tmp_path / "out", signals=False)
    assert digests(tmp_path / "out") == {}


def test_a_missing_file_of_signals_is_made_again_with_the_same_bytes(tmp_path):
    folder = corpus(tmp_path / "in")
    run(folder, tmp_path / "out")
    before = digests(tmp_path / "out")
    for file in [*(tmp_path / "out").glob("signals/*"), *list((tmp_path / "out").glob("01-*/signals/*"))[:2]]:
        file.unlink()
    run(folder, tmp_path / "out")
    assert digests(tmp_path / "out") == before


def test_a_run_stopped_in_the_middle_of_a_pass_goes_on_to_the_same_bytes(tmp_path):
    folder = corpus(tmp_path / "in", files=4)
    run(folder, tmp_path / "calm", (Fussy(), *RULES), split_bytes=3000)
    run(folder, tmp_path / "out", (Fussy(), *RULES), split_bytes=3000)
    commits = sorted((tmp_path / "out").glob("01-*/tally/*.json"))
    assert len(commits) >= 4
    for commit in commits[1::2]:  # as if these had not been written
        commit.unlink()
    for file in (tmp_path / "out/signals").glob("*"):
        file.unlink()
    run(folder, tmp_path / "out", (Fussy(), *RULES), split_bytes=3000)
    assert digests(tmp_path / "out") == digests(tmp_path / "calm") != {}


def test_a_document_whose_measuring_fails_after_it_left_is_dropped_as_it_was(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Fails(FineWeb):
        def measure(self, document):
            if "number 3 " in document.text:
                raise ValueError("cannot")
            return super().measure(document)

    stages = (GopherQuality(min_doc_words=40, words="whitespace"), Fails(words="whitespace"))
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", [GOOD.format(n=3), GOOD.format(n=3) * 3, GOOD.format(n=4)])
    summary = run(tmp_path / "in", tmp_path / "out", stages)
    assert (summary.dropped["gopher_quality"], summary.failed_by) == (
        {"gopher_short_doc": 2},
        {"fineweb": {"ValueError": 1}},
    )
    (step,) = signals(tmp_path / "out")
    assert step.column("left").tolist() == [0, 1, 0]
    assert step.column("fails").tolist() == [1, 1, -1]


def test_the_manifest_names_the_files(tmp_path):
    run(corpus(tmp_path / "in"), tmp_path / "out")
    files = json.loads((tmp_path / "out/manifest.json").read_text())["files"]
    assert [name for name in files if name.startswith("signals/")] == ["signals/01-gopher_quality-00000.parquet"]
