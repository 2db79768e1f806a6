"""What a run under way tells those who ask from elsewhere."""

from __future__ import annotations

import json
import re
import time

import pytest

from pipeline.errors import EnvironmentFault, UserError
from pipeline.executors.contract import Result, Spot
from pipeline.run import execute, local_folder, plan_run, status
from pipeline.run.folder import EDITION
from pipeline.run.progress import Silent
from pipeline.storage import Folder
from tests.pipeline.run.toy import Needs, Shorts, Unique, recipe, write_jsonl
from tokenmill.cli import main
from tokenmill.commands.status import status_of, text_of


@pytest.fixture
def out(tmp_path):
    folder = Folder(str(tmp_path / "run"))
    unfinished = {"edition": EDITION, "name": "toy", "recipe_file": "", "state": "running"}
    folder.put_json("unfinished.json", unfinished)
    return folder


@pytest.fixture
def board(out, monkeypatch):
    monkeypatch.setattr(status, "SECONDS_HERE", 0.0)
    made = status.StatusBoard(Silent(), out, EDITION)
    made.begin("extract", 1, 3, 10, 4)
    return made


def test_tasks_in_work_are_told_with_place_time_and_document_the_oldest_first(out, board):
    now = time.time()
    board.spots({"part-b": Spot(7, "10.0.0.2", now - 5), "part-a": Spot(-1, "10.0.0.3", now - 90)})
    found = status_of(out)
    assert found["state"] == "running"
    assert [(w["task"], w["place"], w["document"]) for w in found["running"]] == [
        ("part-a", "10.0.0.3", -1),
        ("part-b", "10.0.0.2", 7),
    ]
    assert found["in_work"] == 2
    assert re.search(r"part-a +10\.0\.0\.3 +9\d s", text_of(found))


def test_what_ended_is_counted_with_its_cost_and_the_time_left_follows(out, board):
    for number in range(3):
        board.ended(Result(f"part-{number}", "done", attempts=2, cpu_seconds=1200.0))
    board.ended(Result("part-9", "failed", error=ValueError("no\nluck"), cpu_seconds=0.0))
    found = status_of(out)
    assert (found["tasks_done"], found["failed_tasks"], found["tried_again"], found["cpu_seconds"]) == (3, 1, 3, 3600)
    assert found["usd"] == 0.05
    assert found["passes"][-1]["done"] == 4
    assert found["seconds_left_in_pass"] is not None


def test_the_log_holds_a_line_a_task_with_the_time_and_is_bounded(out, board, monkeypatch):
    monkeypatch.setattr(status, "LINES", 20)
    bounded = status.StatusBoard(Silent(), out, EDITION)
    for number in range(50):
        bounded.ended(Result(f"part-{number}", "done"))
    bounded.close(EnvironmentFault("the disk is full"))
    lines = out.get("tasks.log").decode().splitlines()
    assert len(lines) == 20
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ part-49 done, 0\.00 s of CPU", lines[-2])
    assert lines[-1].endswith("the run ends: the disk is full")
    after = status.StatusBoard(Silent(), out, EDITION)
    after.ended(Result("part-50", "done"))
    after.close(None)
    assert out.get("tasks.log").decode().splitlines()[-3:-2] == lines[-1:]  # it goes on where it ended


def test_a_run_that_says_nothing_for_long_is_silent_and_what_to_do_is_said(out, board, monkeypatch):
    board.spots({})
    monkeypatch.setattr("tokenmill.commands.status.DEAD_SECONDS", -1.0)
    found = status_of(out)
    assert found["state"] == "silent"
    assert "run its recipe again to go on" in text_of(found)


def test_a_finished_run_tells_its_accounts_and_has_no_status_but_a_log(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["one text", "another text", "one text", "x"])
    out = local_folder(tmp_path / "run")
    execute(plan_run(recipe(tmp_path / "in", (Shorts(), Unique()))), out, workers=1)
    assert "status.json" not in out.names()
    assert "the run is done" in out.get("tasks.log").decode()
    assert main(["status", out.url, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["read"], found["kept"]) == ("finished", 4, 2)
    before = out.get("tasks.log")
    execute(plan_run(recipe(tmp_path / "in", (Shorts(), Unique()))), out, workers=1)
    assert out.get("tasks.log") == before  # nothing was done


def test_a_failed_run_tells_why(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/a.jsonl", ["one text"])
    out = local_folder(tmp_path / "run")
    with pytest.raises(UserError):
        execute(plan_run(recipe(tmp_path / "in", (Needs(file="/none"),))), out, workers=1)
    assert main(["status", out.url]) == 0
    said = capsys.readouterr().out
    assert said.startswith("toy: failed: ")
    assert "/none" in said.splitlines()[0]


def test_where_no_run_is_there_is_no_status(tmp_path, capsys):
    assert main(["status", str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
