"""Tasks as data: what comes back is what was handed out, and nothing that a run folder holds can lead elsewhere."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from pipeline.decisions import DropPositions
from pipeline.errors import StorageError
from pipeline.executors.here import run_here
from pipeline.run.drive import execute
from pipeline.run.folder import local_folder
from pipeline.run.handed import Block, Handing
from pipeline.run.plan import plan_run
from pipeline.worker.shard import run_shard_task
from stages.mixing.mix import Mix, SampleByRate
from tests.pipeline.run.toy import Shorts, Shout, Unique, recipe, write_jsonl


@pytest.fixture
def handed(tmp_path):
    """Return the run's `Handing` and, of every shard task of a run with decisions, the task and its block as bytes."""
    for number in range(3):
        write_jsonl(tmp_path / f"{number}.jsonl", [f"text {n % 4} of {number % 2}" for n in range(12)] + ["x"])
    plan = plan_run(recipe(tmp_path, (Shorts(), Unique(), Mix(fractions={"web": 0.6}), Shout())))
    out = local_folder(tmp_path / "run")
    handing, seen = Handing(plan, out), []

    def watching(function, tasks, **how):
        tasks = list(tasks)
        if function is run_shard_task:
            seen.append((tasks, msgspec.json.encode(handing.block(1, tasks))))
        yield from run_here(function, tasks, **how)

    execute(plan, out, workers=1, executor=watching)
    return handing, seen


def test_every_task_of_a_run_with_decisions_comes_back_as_it_was(handed):
    handing, seen = handed
    applied = {type(a.stage) for tasks, _ in seen for _, task in tasks for a in task.work.stages}
    assert {Shorts, Shout, DropPositions, SampleByRate} <= applied
    for tasks, data in seen:
        back = handing.tasks(msgspec.json.decode(data, type=Block))
        for key, task in tasks:
            schemas = {"schema_in": task.work.schema_in, "schema_out": task.work.schema_out}
            assert replace(back[key], work=replace(back[key].work, **schemas)) == task


@pytest.mark.parametrize("way", ["target", "name", "key", "label", "stage", "split"])
def test_what_leads_out_of_the_run_or_its_recipe_is_refused(handed, way):
    handing, seen = handed
    block = msgspec.json.decode(seen[0][1], type=Block)
    work, task = block.works[0], block.tasks[0]
    if way == "target":
        work.target = "../elsewhere"
    elif way == "name":
        task.name = "../../elsewhere"
    elif way == "key":
        task.key = "a/../../b"
    elif way == "label":
        work.stages[0].label = "os.system"
    elif way == "stage":
        work.stages[0].label = "unique"  # a corpus stage applies nothing
    else:
        task.split = 10_000
    with pytest.raises(StorageError, match="hands out tasks of another run"):
        handing.tasks(block)
