"""The engine: what a run keeps, counts and survives."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from pipeline.errors import AccountingError, RecipeError, UserError
from pipeline.run import execute, local_folder, plan_run, read_ledger
from tests.pipeline.run.toy import Loses, Shorts, Shout, Unique, recipe, write_jsonl

ROOT = pathlib.Path(__file__).resolve().parents[3]


STAGES = (Shorts(), Unique(), Shout())


def run(folder, out, stages=STAGES, workers=2, executor=None, **limits):
    plan = plan_run(recipe(folder, stages, **limits))
    finished = execute(plan, local_folder(out), workers=workers, executor=executor)
    return finished.summary.as_dict()


def corpus(folder: pathlib.Path, files: int = 3, documents: int = 40) -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    for number in range(files):
        write_jsonl(folder / f"{number}.jsonl", [f"document {n % 25 + 10 * number}" for n in range(documents)] + ["x"])
    return folder


def texts(out: pathlib.Path) -> list[str]:
    return [t for f in sorted((out / "data").glob("*.parquet")) for t in pq.read_table(f)["text"].to_pylist()]


def ledger(out: pathlib.Path) -> list[dict]:
    return [row for batch in read_ledger(local_folder(out)) for row in batch.to_pylist()]


def digests(out: pathlib.Path) -> dict[str, str]:
    files = [*out.glob("data/*.parquet"), *out.glob("[0-9]*/ledger/*.parquet")]
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(files)}


def test_every_document_is_kept_dropped_or_failed(tmp_path):
    summary = run(corpus(tmp_path / "in"), tmp_path / "out")
    dropped = sum(n for rules in summary["dropped"].values() for n in rules.values())
    assert summary["read"] == 123 == summary["kept"] + dropped + summary["failed"]
    assert summary["balanced"]
    assert len(texts(tmp_path / "out")) == summary["kept"]
    assert len(ledger(tmp_path / "out")) == dropped


def test_the_ledger_names_rule_value_and_threshold(tmp_path):
    write_jsonl(corpus(tmp_path / "in", files=1) / "one.jsonl", ["ab"])
    run(tmp_path / "in", tmp_path / "out")
    (row,) = [r for r in ledger(tmp_path / "out") if r["id"] == "one-0"]
    assert (row["stage"], row["rule"], row["kind"]) == ("shorts", "short", "document")
    assert (row["value"], row["threshold"], row["text"], row["source"]) == (2.0, 3.0, "ab", "web")


def test_a_decision_drops_the_documents_it_named(tmp_path):
    run(corpus(tmp_path / "in"), tmp_path / "out")
    found = texts(tmp_path / "out")
    assert len(found) == len(set(found)) == 45
    assert all(text == text.upper() for text in found)


@pytest.mark.parametrize(
    ("text", "rule", "says"),
    [
        ("HANG", "cpu_time", "CPU time"),
        ("KILL", "crash", "SIGKILL"),
        ("EAT", "memory", "memory"),
        ("RAISE", "ValueError", "judged"),
    ],
)
def test_a_document_that_misbehaves_fails_alone(tmp_path, text, rule, says):
    folder = corpus(tmp_path / "in", files=1)
    write_jsonl(folder / "bad.jsonl", ["good one", text, "good two"])
    summary = run(folder, tmp_path / "out", cpu_seconds=1.0 if text == "HANG" else 60.0)
    assert summary["failed_by"] == {"shorts": {rule: 1}}
    (row,) = [r for r in ledger(tmp_path / "out") if r["kind"] == "failed"]
    assert row["id"] == "bad-1"
    assert says in row["detail"]
    assert {"GOOD ONE", "GOOD TWO"} <= set(texts(tmp_path / "out"))


def test_a_document_that_kills_an_observation_is_found_in_its_batch_and_fails_alone(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["first", "KILL-OBSERVE", "last"])
    summary = run(tmp_path / "in", tmp_path / "out")
    assert summary["failed_by"] == {"unique": {"crash": 1}}
    assert texts(tmp_path / "out") == ["FIRST", "LAST"]


def test_the_number_of_workers_changes_no_byte(tmp_path):
    folder = corpus(tmp_path / "in", files=5)
    for workers in (1, 3):
        run(folder, tmp_path / f"out{workers}", workers=workers)
    assert digests(tmp_path / "out1") == digests(tmp_path / "out3")


def test_a_stage_that_loses_documents_ends_the_run(tmp_path):
    with pytest.raises(AccountingError, match="loses lost documents"):
        run(corpus(tmp_path / "in"), tmp_path / "out", (Loses(),))


def test_a_second_run_does_no_task_again(tmp_path):
    folder = corpus(tmp_path / "in")
    first = run(folder, tmp_path / "out")
    stamps = {f: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("[0-9]*/**/part-*")}
    second = run(folder, tmp_path / "out")
    assert {f: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("[0-9]*/**/part-*")} == stamps
    assert {**first, "passes": 0, "stages": 0, "cpu_seconds": 0} == {
        **second,
        "passes": 0,
        "stages": 0,
        "cpu_seconds": 0,
    }


def test_a_changed_parameter_reruns_its_pass_and_nothing_before(tmp_path):
    folder = corpus(tmp_path / "in")
    run(folder, tmp_path / "out", (Shout(), Unique(), Shorts(minimum=3)))
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("01-*/part-*")}
    old = {f.name for f in (tmp_path / "out").glob("02-*")}
    run(folder, tmp_path / "out", (Shout(), Unique(), Shorts(minimum=12)))
    assert {f: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("01-*/part-*")} == before
    assert {f.name for f in (tmp_path / "out").glob("02-*")}.isdisjoint(old)


def test_a_parameter_that_only_the_decision_uses_does_not_observe_again(tmp_path):
    folder = corpus(tmp_path / "in")
    run(folder, tmp_path / "out", (Shout(), Unique(threshold=1.0)))
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("01-*/**/part-*")}
    run(folder, tmp_path / "out", (Shout(), Unique(threshold=0.5)))
    assert {f: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("01-*/**/part-*")} == before
    assert {row["threshold"] for row in ledger(tmp_path / "out") if row["stage"] == "unique"} == {0.5}


def test_a_changed_input_is_read_again(tmp_path):
    folder = corpus(tmp_path / "in")
    run(folder, tmp_path / "out")
    write_jsonl(folder / "0.jsonl", ["something else"])
    run(folder, tmp_path / "out")
    assert "SOMETHING ELSE" in texts(tmp_path / "out")


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path):
    folder = corpus(tmp_path / "in", files=12, documents=60)
    run(folder, tmp_path / "whole")
    script = (
        "import pathlib, sys; from tests.pipeline.run.test_run import run\n"
        "if __name__ == '__main__': run(pathlib.Path(sys.argv[1]), sys.argv[2])\n"
    )
    (tmp_path / "go.py").write_text(script)
    command = [sys.executable, str(tmp_path / "go.py"), str(folder), str(tmp_path / "killed")]
    chance = random.Random(7)
    finished: dict[pathlib.Path, int] = {}
    for _ in range(6):
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True)
        time.sleep(chance.uniform(0.3, 1.4))
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = {f: f.stat().st_mtime_ns for f in (tmp_path / "killed").glob("[0-9]*/tally/*.json") if "#" not in f.name}
        assert {f: now[f] for f in finished} == finished  # no finished task was done twice
        finished = now
    run(folder, tmp_path / "killed")
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")


def test_a_run_killed_in_the_middle_of_a_decision_decides_anew_without_repeating_its_tasks(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    script = (
        "import pathlib, sys; from tests.pipeline.run.test_run import run; from tests.pipeline.run.toy import DiesOnce\n"
        "if __name__ == '__main__':\n"
        "    run(pathlib.Path(sys.argv[1]), sys.argv[2], (DiesOnce(marker=sys.argv[3], log=sys.argv[4]),))\n"
    )
    (tmp_path / "go.py").write_text(script)
    command = [sys.executable, str(tmp_path / "go.py"), str(folder), str(out)]
    command += [str(tmp_path / "marker"), str(tmp_path / "log")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    assert not list(out.glob("**/decision.json"))
    assert sorted((tmp_path / "log").read_text().split()) == ["0", "1", "2"]
    assert subprocess.run(command, env=environment).returncode == 0
    assert sorted((tmp_path / "log").read_text().split()) == ["0", "1", "2"]
    assert not list(out.glob("**/tasks/*"))
    run(folder, tmp_path / "whole", (Unique(),))
    assert texts(out) == texts(tmp_path / "whole")


def test_a_folder_of_another_recipe_is_refused(tmp_path):
    folder = corpus(tmp_path / "in")
    run(folder, tmp_path / "out")
    other = plan_run(recipe(folder, (Shorts(),), name="other"))
    with pytest.raises(RecipeError, match="belongs to recipe 'toy'"):
        execute(other, local_folder(tmp_path / "out"), workers=1)


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    folder = corpus(tmp_path / "in")
    with pytest.raises(RecipeError, match="not empty"):
        execute(plan_run(recipe(folder, (Shorts(),))), local_folder(folder), workers=1)


def test_failures_beyond_the_share_that_the_recipe_allows_end_the_run(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["fine"] * 60 + ["RAISE"] * 60)
    with pytest.raises(UserError, match="failed_share"):
        run(tmp_path / "in", tmp_path / "out", (Shorts(),))


def test_equal_ids_and_the_same_file_twice_lose_nothing(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [json.dumps({"id": "same", "text": f"text {n}"}) for n in range(5)]
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "b.jsonl").write_text("\n".join(lines) + "\n")
    summary = run(folder, tmp_path / "out", (Shorts(),))
    assert summary["kept"] == 10


def test_no_input_documents_make_an_empty_corpus(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/empty.jsonl").write_text("")
    summary = run(tmp_path / "in", tmp_path / "out")
    assert (summary["read"], summary["kept"], summary["balanced"]) == (0, 0, True)
    assert texts(tmp_path / "out") == []
