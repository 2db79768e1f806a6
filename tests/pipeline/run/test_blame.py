"""Whatever a stage does to one document, that document fails and no other."""

from __future__ import annotations

import json

import psutil
import pytest

from pipeline.errors import AccountingError
from pipeline.executors.here import run_here
from tests.pipeline.run.misbehaving import (
    ANSWERING,
    BATCH,
    CORPUS,
    HARMLESS,
    KILLING,
    RAISING,
    BadBatch,
    BadCorpus,
    BadDocument,
    KillsMany,
    KillsReaders,
    Leaks,
)
from tests.pipeline.run.test_run import ledger, run, texts
from tests.pipeline.run.toy import Loses, Shorts, write_jsonl

LIMITS = {"workers": 1, "cpu_seconds": 0.6, "wall_seconds": 4.0, "memory_bytes": 330_000_000, "failed_share": 1.0}


def fine(number: int) -> list[str]:
    return [f"a fine text {n}" for n in range(number)]


def one_run(tmp_path_factory, name, misdeeds):
    """Run all `misdeeds`, each between two good documents; return the ledger's lines by text, and the texts kept."""
    place = tmp_path_factory.mktemp(name)
    (place / "in").mkdir()
    lines = [line for misdeed in misdeeds for line in (f"before: {misdeed}", misdeed, f"after: {misdeed}")]
    write_jsonl(place / "in/a.jsonl", lines)
    summary = run(place / "in", place / "out", (BadDocument(),), **LIMITS)
    assert summary["balanced"]
    return {row["text"]: row for row in ledger(place / "out")}, texts(place / "out")


@pytest.fixture(scope="module")
def gentle(tmp_path_factory):
    return one_run(tmp_path_factory, "gentle", {**RAISING, **ANSWERING})


@pytest.fixture(scope="module")
def violent(tmp_path_factory):
    return one_run(tmp_path_factory, "violent", {**KILLING, **HARMLESS})


@pytest.mark.parametrize("misdeed", [*RAISING, *ANSWERING])
def test_a_document_stage_that_does_this_to_a_document_fails_exactly_that(gentle, misdeed):
    gone, kept = gentle
    assert gone[misdeed]["kind"] == "failed"
    assert misdeed not in kept
    assert {f"before: {misdeed}", f"after: {misdeed}"} <= set(kept)


@pytest.mark.parametrize("misdeed", KILLING)
def test_a_document_that_makes_a_stage_kill_its_process_fails_alone(violent, misdeed):
    gone, kept = violent
    assert gone[misdeed]["kind"] == "failed"
    assert {f"before: {misdeed}", f"after: {misdeed}"} <= set(kept)


def test_the_ledger_names_the_limit_that_a_document_exceeded(violent):
    times = {"cpu_time", "wall_time"}  # a busy machine may give a process no time until the other is over
    named = {
        "runs for ever": times,
        "runs for ever and ignores the timer": times,
        "sleeps for ever": {"wall_time"},
        "eats memory": {"memory", *times},
        "asks for more memory than there is": {"memory"},
    }
    for misdeed in KILLING:
        assert violent[0][misdeed]["rule"] in named.get(misdeed, {"crash"}), misdeed


@pytest.mark.parametrize("misdeed", HARMLESS)
def test_what_a_stage_does_beside_its_work_costs_no_document(violent, misdeed):
    gone, kept = violent
    assert misdeed not in gone
    assert misdeed in kept


def test_no_process_that_a_stage_left_behind_outlives_the_run(violent):
    assert [p for p in psutil.process_iter() if "61.7" in _arguments(p)] == []


def _arguments(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def bad_run(tmp_path, stage):
    apart = stage.misdeed in ("kills the process", "ends the process", "aborts", "runs for ever", "eats memory")
    executor = None if apart or "Interrupt" in stage.misdeed else run_here  # processes where nothing else will do
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", [*fine(5), "BAD", *fine(2)])
    summary = run(tmp_path / "in", tmp_path / "out", (Shorts(), stage), executor=executor, **LIMITS)
    assert (summary["read"], summary["kept"], summary["failed"]) == (8, 7, 1)
    assert [row["id"] for row in ledger(tmp_path / "out")] == ["a-5"]
    assert texts(tmp_path / "out") == [*fine(5), *fine(2)]


@pytest.mark.parametrize("misdeed", BATCH)
def test_a_batch_stage_that_does_this_because_of_a_document_fails_exactly_that(tmp_path, misdeed):
    bad_run(tmp_path, BadBatch(misdeed=misdeed))


@pytest.mark.parametrize("misdeed", CORPUS)
def test_a_corpus_stage_that_does_this_while_it_observes_fails_exactly_that_document(tmp_path, misdeed):
    bad_run(tmp_path, BadCorpus(misdeed=misdeed))
    assert json.loads(next((tmp_path / "out").glob("**/seen.json")).read_text()) == 7


def test_a_stage_that_loses_documents_whichever_they_are_ends_the_run(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", fine(20))
    with pytest.raises(AccountingError, match="stage loses lost documents"):
        run(tmp_path / "in", tmp_path / "out", (Loses(),))


def test_a_stage_that_leaks_and_dies_every_fifteen_documents_costs_none(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", fine(90))
    summary = run(tmp_path / "in", tmp_path / "out", (Leaks(),), **LIMITS)
    assert (summary["kept"], summary["failed"]) == (90, 0)


def test_many_documents_that_kill_are_found_in_one_reading(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", [*["BAD", *fine(3)] * 20])
    summary = run(tmp_path / "in", tmp_path / "out", (KillsMany(),), **LIMITS)
    assert (summary["kept"], summary["failed"]) == (60, 20)


def test_however_many_records_kill_their_reader_a_split_is_read_a_few_times(tmp_path):
    (tmp_path / "in").mkdir()
    lines = [*fine(20), *[*fine(90), "BAD"] * 15, *fine(100)]
    write_jsonl(tmp_path / "in/a.jsonl", lines)
    limits = {**LIMITS, "batch_bytes": 1000}  # some ten records from mark to mark
    summary = run(tmp_path / "in", tmp_path / "out", (KillsReaders(log=str(tmp_path / "log")),), **limits)
    assert (summary["read"], summary["kept"], summary["failed"]) == (len(lines), len(lines) - 15, 15)
    assert ["BAD" in row["text"] for row in ledger(tmp_path / "out")] == [True] * 15
    assert texts(tmp_path / "out") == [line for line in lines if line != "BAD"]
    assert (tmp_path / "log").stat().st_size < 3 * len(lines) + 15 * 40
