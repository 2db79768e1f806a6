"""Whose fault it is: the environment's ends the run with nothing lost, a document's is one outcome."""

from __future__ import annotations

import json
import pathlib

import pytest

from pipeline.errors import StorageError, UserError
from pipeline.executors.here import run_here
from pipeline.run import execute, local_folder, plan_run
from pipeline.tally import too_many
from tests.pipeline.run.test_run import corpus, ledger, run, texts
from tests.pipeline.run.toy import Loads, Needs, Shorts, Unique, recipe, write_jsonl


def test_a_file_that_a_stage_misses_ends_the_run_and_costs_no_document(tmp_path):
    folder, out, needed = corpus(tmp_path / "in"), tmp_path / "out", tmp_path / "model"
    with pytest.raises(UserError, match="No such file"):
        run(folder, out, (Needs(file=str(needed)),))
    assert not list(out.glob("01-*/tally/*"))
    needed.write_text("!")
    summary = run(folder, out, (Needs(file=str(needed)),))
    assert (summary["failed"], summary["kept"]) == (0, 123)


def test_a_stage_that_cannot_load_ends_the_run_whatever_it_raises(tmp_path):
    folder, model = corpus(tmp_path / "in", files=1), tmp_path / "model"
    with pytest.raises(UserError, match="stage loads cannot load what it needs: ValueError: the model is not where"):
        run(folder, tmp_path / "out", (Loads(file=str(model)),))
    model.touch()
    assert run(folder, tmp_path / "out", (Loads(file=str(model)),))["kept"] == 41


def test_a_run_in_which_most_fails_ends_early_and_what_failed_is_tried_again_when_asked(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    for number in range(30):
        write_jsonl(tmp_path / f"in/{number:02d}.jsonl", ["RAISE"] * 10)
    out = tmp_path / "out"
    with pytest.raises(UserError, match=r"failed \(most by shorts: ValueError, most in .*jsonl\).*--retry-failed"):
        run(tmp_path / "in", out, (Shorts(),), workers=1)
    assert 10 <= len(list(out.glob("01-*/tally/*"))) < 15
    state = json.loads((out / "unfinished.json").read_text())
    assert state["state"] == "failed"
    assert "failed_share" in state["error"]
    # the cause is mended: here, the recipe allows it
    plan = plan_run(recipe(tmp_path / "in", (Shorts(),), failed_share=1.0))
    finished = execute(plan, local_folder(out), workers=1, retry_failed=True)
    assert finished.summary.failed == 300


def test_a_stage_that_fails_everything_ends_the_run_inside_one_large_shard(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["fine text"] * 10 + ["RAISE"] * 5000)
    with pytest.raises(UserError, match=r"failed so far.*a\.jsonl.*most by shorts: ValueError.*--retry-failed") as said:
        run(tmp_path / "in", tmp_path / "out", (Shorts(),), batch_bytes=2000, executor=run_here)
    assert int(str(said.value).split(" of ")[1].split()[0]) < 300


def test_what_failed_at_the_start_of_a_shard_ends_no_run_of_many_good_documents(tmp_path):
    folder = corpus(tmp_path / "in", files=30)  # 1,230 good ones are read first
    write_jsonl(folder / "z.jsonl", ["RAISE"] * 150 + ["fine text"] * 500)
    summary = run(folder, tmp_path / "out", (Shorts(),), workers=1, batch_bytes=2000, executor=run_here)
    assert (summary["failed"], summary["balanced"]) == (150, True)


def test_records_that_cannot_be_read_at_the_start_of_a_shard_end_no_run(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text(
        '{"text": "a document"}\n' + "{not json}\n" * 150 + '{"text": "a document"}\n' * 1499
    )
    summary = run(tmp_path / "in", tmp_path / "out", (Shorts(),), batch_bytes=2000, executor=run_here)
    assert (summary["failed"], summary["kept"]) == (150, 1500)


@pytest.mark.parametrize(
    ("bad", "good", "ends"), [(5, 0, True), (3, 0, True), (1, 2, False), (1, 40, False), (9, 9, True)]
)
def test_the_share_that_may_fail_holds_for_small_inputs_beyond_what_a_few_may_do_by_chance(tmp_path, bad, good, ends):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["fine text"] * good + ["RAISE"] * bad)
    if ends:
        with pytest.raises(UserError, match="failed_share"):
            run(tmp_path / "in", tmp_path / "out", (Shorts(),))
    else:
        assert run(tmp_path / "in", tmp_path / "out", (Shorts(),))["failed"] == bad


def test_the_share_covers_records_that_cannot_be_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text('{"text": "a document"}\n' + "{not json}\n" * 50)
    with pytest.raises(UserError, match="read: bad_json"):
        run(tmp_path / "in", tmp_path / "out", (Shorts(),))


def test_one_file_of_which_nothing_can_be_read_ends_no_run_of_many(tmp_path):
    folder = corpus(tmp_path / "in")
    (folder / "0-broken.jsonl").write_text("{not json}\n" * 5)
    summary = run(folder, tmp_path / "out", (Shorts(),), workers=1)
    assert (summary["failed"], summary["kept"]) == (5, 120)


def test_more_failures_are_never_too_few_where_fewer_were_too_many():
    for read in (1, 2, 3, 5, 10, 100, 1000):
        answers = [too_many(failed, read, 0.2) for failed in range(read + 1)]
        assert answers == sorted(answers)
        assert answers[-1]
    assert too_many(0, 0, 0.2) is False
    assert not too_many(20, 100, 0.2)
    assert too_many(300, 1000, 0.2)


def test_documents_that_failed_by_a_limit_are_tried_again_with_a_higher_one(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["good one", "RAISE", *[f"text {n}" for n in range(20)]])
    folder, out = tmp_path / "in", local_folder(tmp_path / "out")
    execute(plan_run(recipe(folder, (Shorts(), Unique()))), out, workers=1)
    plan = plan_run(recipe(folder, (Shorts(), Unique())))
    before = [row["rule"] for row in ledger(tmp_path / "out")]
    again = execute(plan, out, workers=1, retry_failed=True)
    assert [row["rule"] for row in ledger(tmp_path / "out")] == before == ["ValueError"]
    assert again.summary.failed == 1


def decision_files(out: pathlib.Path) -> list[pathlib.Path]:
    return sorted(out.glob("**/decision-*/drop*"))


@pytest.mark.parametrize("harm", ["missing", "short", "foreign"])
def test_a_decision_whose_files_are_not_what_they_were_ends_the_run(tmp_path, harm):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Unique(),))
    file = next(f for f in decision_files(out) if f.suffix == ".parquet")
    data = file.read_bytes()
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(data[:-20] if harm == "short" else bytes(len(data)))
    with pytest.raises(StorageError, match=file.name):
        run(folder, out, (Unique(), Shorts()))


def test_no_run_folder_can_make_the_program_import_a_module(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Unique(),))
    decision = next(out.glob("**/decision.json"))
    record = json.loads(decision.read_text())
    marker = tmp_path / "imported"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w')\n")
    record["module"], record["class"] = "evil", "Evil"
    record["fields"]["stage"] = "evil:Evil"
    decision.write_text(json.dumps(record))
    run(folder, out, (Unique(),))
    assert not marker.exists()


def test_a_drop_file_that_lost_rows_keeps_no_duplicate(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Unique(),))
    kept = texts(out)
    for file in decision_files(out):
        file.unlink()
    with pytest.raises(StorageError):
        run(folder, out, (Unique(),))
    assert texts(out) == kept


def test_a_memory_limit_below_what_a_worker_needs_ends_the_run_and_names_the_limit(tmp_path):
    folder = corpus(tmp_path / "in", files=1)
    with pytest.raises(UserError, match=r"limits\.memory_bytes"):
        run(folder, tmp_path / "out", (Shorts(),), memory_bytes=60_000_000)
