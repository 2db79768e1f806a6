"""Nothing around a run changes it: run again, changed and back, touched, written over, in company of other files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pathlib
import shutil

import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError, RecipeError, UserError
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder, plan_run
from pipeline.run.folder import put_away, read_manifest, spare_folders
from tests.pipeline.run.test_run import corpus, ledger, run, texts
from tests.pipeline.run.toy import Costly, Counts, Shorts, Shout, Unique, recipe, write_jsonl

LOGS = ("tasks.log", "run.log")
"""Written where something was done, with the time of each line."""


def everything(out: pathlib.Path) -> dict[str, str]:
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in out.rglob("*") if f.is_file()}


def untimed(out: pathlib.Path) -> dict[str, str]:
    """Names and bytes of all files but those that tell how long something took, and the digests of these."""
    timed = ("summary.json", "manifest.json", "seconds.json", "cost.json", *LOGS)
    return {
        n: d for n, d in everything(out).items() if not n.endswith(timed) and "/tally/" not in n and "/seen/" not in n
    }


def shards(out: pathlib.Path, step: str = "01-*") -> dict[pathlib.Path, int]:
    return {f: f.stat().st_mtime_ns for f in out.glob(f"{step}/*.parquet") if not f.name.startswith("shards-")}


def test_a_finished_run_run_again_leaves_every_name_and_byte_as_it_was(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out)
    before = everything(out)
    run(folder, out)
    assert everything(out) == before


def test_a_parameter_changed_and_changed_back_gives_the_names_and_bytes_of_the_beginning(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Shout(), Shorts(minimum=3)))
    first = everything(out)
    run(folder, out, (Shout(), Shorts(minimum=11)))
    assert everything(out) != first
    run(folder, out, (Shout(), Shorts(minimum=3)))
    again = everything(out)
    timed = ("manifest.json", *LOGS)
    current = {name: again[name] for name in again if not name.startswith("earlier/") and name not in timed}
    assert current == {name: first[name] for name in first if name not in timed}


def test_going_back_to_a_former_parameter_finds_its_passes(tmp_path):
    folder, out, log = corpus(tmp_path / "in"), tmp_path / "out", tmp_path / "log"
    for minimum in (3, 11, 3):
        run(folder, out, (Costly(log=str(log)), Unique(), Shorts(minimum=minimum)))
    assert len(log.read_text().splitlines()) == 123  # each document met the costly stage once


def test_a_change_behind_a_costly_stage_never_pays_for_it_again(tmp_path):
    folder, out, log = corpus(tmp_path / "in"), tmp_path / "out", tmp_path / "log"
    run(folder, out, (Costly(log=str(log)), Shorts(minimum=3)))
    run(folder, out, (Costly(log=str(log)), Shorts(minimum=13)))
    assert len(log.read_text().splitlines()) == 123
    assert {row["threshold"] for row in ledger(out)} == {13.0}


def test_the_corpus_is_no_alias_of_the_shards_so_writing_to_it_changes_no_run(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out)
    before = untimed(out)
    (out / "data/part-00000.parquet").write_bytes(b"someone else was here")
    os.utime(out / "data/part-00000.parquet", ns=(1, 1 << 62))
    run(folder, out)
    assert untimed(out) == before


def test_a_touched_or_copied_input_reruns_nothing(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out)
    made = shards(out)
    for file in sorted(folder.iterdir()):
        shutil.copyfile(file, tmp_path / "copy")
        os.replace(tmp_path / "copy", file)
    run(folder, out)
    assert shards(out) == made


def test_a_changed_input_of_the_same_size_and_time_reruns_its_own_shards_only(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out)
    made = shards(out)
    data = (folder / "1.jsonl").read_bytes()
    (folder / "1.jsonl").write_bytes(data.replace(b"document 10", b"DOCUMENT 1x"))
    run(folder, out)
    now = shards(out)
    assert len([f for f in now if f not in made]) == 1
    assert all(now[f] == made[f] for f in made)
    assert "DOCUMENT 1X" in texts(out)


def test_an_added_input_reruns_no_shard_of_the_others(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out)
    made = shards(out)
    write_jsonl(folder / "0b.jsonl", ["something new", "document 3"])
    run(folder, out)
    assert {f: t for f, t in shards(out).items() if f in made} == made
    assert "SOMETHING NEW" in texts(out)
    run(folder, tmp_path / "fresh")
    assert texts(out) == texts(tmp_path / "fresh")
    assert ledger(out) == ledger(tmp_path / "fresh")


def test_an_input_that_changes_while_it_is_read_stops_the_run(tmp_path, monkeypatch):
    folder = corpus(tmp_path / "in", files=1)
    plan = plan_run(recipe(folder, (Shorts(),)))
    import pipeline.run.inputs as inputs

    seen = inputs.changed_at
    monkeypatch.setattr(inputs, "changed_at", lambda path: (seen(path)[0], 17))
    with pytest.raises(InputError, match=r"0\.jsonl was changed while it was read"):
        execute(plan, local_folder(tmp_path / "out"), workers=1)


def test_files_and_folders_of_other_people_in_a_run_folder_stay(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Shorts(minimum=3),))
    for place in ("2024-backup/keep.txt", "01-mine/x", "data/README.md", "notes.txt"):
        (out / place).parent.mkdir(exist_ok=True)
        (out / place).write_text("mine")
    run(folder, out, (Shorts(minimum=11),))
    run(folder, out, (Shorts(minimum=13),))
    for place in ("2024-backup/keep.txt", "01-mine/x", "data/README.md", "notes.txt"):
        assert (out / place).read_text() == "mine"


def test_passes_of_earlier_forms_stay_until_they_are_cleaned(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    for minimum in (3, 11, 12):
        run(folder, out, (Shorts(minimum=minimum),))
    spare = spare_folders(local_folder(out))
    assert [s.name.split("-")[0] for s in spare] == ["earlier/01", "earlier/01"]
    assert all(s.bytes > 0 and s.files > 0 for s in spare)
    assert len(list(out.glob("01-*"))) == 1


def test_a_link_in_place_of_the_corpus_is_refused_and_what_it_leads_to_stays(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out)
    shutil.move(out / "data", tmp_path / "elsewhere")
    (out / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a link"):
        run(folder, out, (Shout(),))
    assert list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("name", ["../../x", "..", ".", "a/b", "", " ", "a\nb", "/abs"])
def test_a_name_is_a_name_and_never_a_path(name, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(RecipeError, match="must be a name"):
        build_recipe({"name": name, "input": {"paths": ["a.jsonl"]}}, tmp_path)


def test_two_recipes_of_one_name_share_a_folder_only_when_it_is_named(tmp_path):
    from pipeline.recipe import load_recipe

    plans = []
    for place in ("one", "two"):
        corpus(tmp_path / place, files=1)
        (tmp_path / place / "recipe.toml").write_text('[input]\npaths = ["*.jsonl"]\n')
        plans.append(plan_run(load_recipe(tmp_path / place / "recipe.toml")))
    out = local_folder(tmp_path / "runs/recipe")
    execute(plans[0], out, workers=1, asked=False)
    with pytest.raises(RecipeError, match="another recipe of this name"):
        execute(plans[1], out, workers=1, asked=False)
    execute(plans[0], out, workers=1, asked=False)
    execute(plans[1], out, workers=1, asked=True)


def test_a_folder_of_another_edition_is_refused_with_a_clear_line(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    out.mkdir()
    (out / "manifest.json").write_text(json.dumps({"name": "toy", "passes": []}))
    with pytest.raises(RecipeError, match="another edition"):
        run(folder, out)


def test_a_run_stopped_in_its_first_moments_can_be_gone_on_with(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    out.mkdir()
    (out / "inputs.json").write_text("{}")
    (out / "unfinished.json#0").write_text("half a fi")
    assert run(folder, out)["balanced"]


def test_a_changed_run_that_is_stopped_leaves_the_old_results_whole_and_says_that_it_has_not_finished(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Shout(),))
    before = {n: d for n, d in everything(out).items() if n.startswith(("data/", "manifest", "summary", "recipe"))}
    write_jsonl(folder / "bad.jsonl", ["RAISE"] * 500)
    with pytest.raises(UserError):
        run(folder, out, (Shout(), Shorts(minimum=11)))
    now = everything(out)
    assert {name: now[name] for name in before} == before
    assert json.loads((out / "unfinished.json").read_text())["state"] == "failed"


def test_a_publication_that_was_stopped_half_way_is_finished_by_the_next_run(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Shout(),))
    first = everything(out)
    run(folder, out, (Shorts(minimum=11),))
    second = everything(out)
    (out / ".next/data").mkdir(parents=True)
    for name in ("data/part-00000.parquet", "summary.json", "manifest.json"):
        os.replace(out / name, out / ".next" / name)
    run(folder, out, (Shorts(minimum=11),))
    assert {n: d for n, d in everything(out).items() if not n.startswith("earlier/")} == {
        n: d for n, d in second.items() if not n.startswith("earlier/")
    }
    assert first != second


def test_only_passes_that_a_run_has_made_are_put_away(tmp_path):
    out = local_folder(tmp_path)
    (tmp_path / "01-mine-0123456789abcdef").mkdir()
    put_away(out, set(), [])
    assert (tmp_path / "01-mine-0123456789abcdef").is_dir()


def test_the_corpus_has_files_of_the_size_asked_for_none_empty_and_sorted(tmp_path):
    from dataclasses import replace

    folder = corpus(tmp_path / "in", files=6, documents=60)
    write_jsonl(folder / "3.jsonl", ["x"])  # nothing of it stays
    plan = plan_run(recipe(folder, (Shorts(),), split_bytes=500))
    plan = replace(plan, recipe=replace(plan.recipe, output=replace(plan.recipe.output, shard_bytes=800)))
    execute(plan, local_folder(tmp_path / "out"), workers=2)
    files = sorted((tmp_path / "out/data").iterdir())
    rows = [pq.ParquetFile(f).metadata for f in files]
    assert len(files) > 3
    assert all(m.num_rows and all(m.row_group(g).num_rows for g in range(m.num_row_groups)) for m in rows)
    assert all(sum(len(t) for t in pq.read_table(f)["text"].to_pylist()) <= 1600 for f in files)
    whole = execute(plan_run(recipe(folder, (Shorts(),))), local_folder(tmp_path / "whole"), workers=1)
    assert texts(tmp_path / "out") == texts(tmp_path / "whole")
    assert whole.summary.kept == sum(m.num_rows for m in rows)


def test_many_small_shards_become_one_file(tmp_path):
    run(corpus(tmp_path / "in", files=9), tmp_path / "out", split_bytes=200)
    assert [f.name for f in (tmp_path / "out/data").iterdir()] == ["part-00000.parquet"]


def test_one_compressed_stream_becomes_several_shards_of_bounded_size(tmp_path):
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": f"document number {n} " * 20}) for n in range(400)]
    with gzip.open(tmp_path / "in/big.jsonl.gz", "wt") as file:
        file.write("\n".join(lines))
    from pipeline.readers import InputFile

    made = recipe(tmp_path / "in", (Shorts(),), shard_bytes=20_000)
    from dataclasses import replace

    made = replace(made, inputs=(InputFile(str(tmp_path / "in/big.jsonl.gz"), "big.jsonl.gz", "web"),))
    finished = execute(plan_run(made), local_folder(tmp_path / "out"), workers=1)
    assert finished.summary.kept == 400
    found = shards(tmp_path / "out")
    assert len(found) > 5
    assert [f.name[-12:-8] for f in sorted(found)] == [f"{n:04d}" for n in range(len(found))]
    assert texts(tmp_path / "out") == [f"document number {n} " * 20 for n in range(400)]
    # a crash loses at most one of them: what stands is not made again
    lost = sorted(found)[3]
    for tally in (tmp_path / "out").glob(f"01-*/tally/{lost.stem}.json"):
        tally.unlink()
    execute(plan_run(made), local_folder(tmp_path / "out"), workers=1)
    again = shards(tmp_path / "out")
    assert {f for f in found if again[f] == found[f]} >= set(sorted(found)[:3])
    assert texts(tmp_path / "out") == [f"document number {n} " * 20 for n in range(400)]


def test_a_shard_whose_ledger_or_texts_were_deleted_is_made_again(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Shorts(),))
    before = untimed(out)
    next(iter(sorted(out.glob("01-*/ledger/*.parquet")))).unlink()
    next(iter(sorted(shards(out)))).unlink()
    run(folder, out, (Shorts(),))
    assert untimed(out) == before


def test_a_torn_tally_makes_its_shard_again(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    run(folder, out, (Shorts(),))
    tally = sorted(out.glob("01-*/tally/*.json"))[1]
    tally.write_text(tally.read_text()[:40])
    assert run(folder, out, (Shorts(),))["balanced"]
    assert json.loads(tally.read_text())


def test_a_document_that_kills_a_stage_which_only_observes_fails_alone(tmp_path):
    (tmp_path / "in").mkdir()
    write_jsonl(
        tmp_path / "in/a.jsonl", ["first", "KILL-OBSERVE", "RAISE-OBSERVE", "last", *[f"t {n}" for n in range(20)]]
    )
    summary = run(tmp_path / "in", tmp_path / "out", (Shorts(), Counts()))
    assert summary["failed_by"] == {"counts": {"ValueError": 1, "crash": 1}}
    assert summary["kept"] == len(texts(tmp_path / "out")) == 22
    assert [row["id"] for row in ledger(tmp_path / "out")] == ["a-1", "a-2"]
    assert json.loads(next((tmp_path / "out").glob("**/count.json")).read_text()) == 22


def test_corpus_stages_in_a_row_observe_in_one_reading_and_decide_on_what_the_one_before_left(tmp_path):
    folder, out = corpus(tmp_path / "in"), tmp_path / "out"
    summary = run(folder, out, (Shorts(), Unique(), Unique(threshold=0.5), Counts()))
    assert [step["name"] for step in summary["passes"]] == ["shorts", "unique", "counts"] or len(summary["passes"]) == 2
    assert list(summary["dropped"]) == ["shorts", "unique"]  # the second finds nothing left
    assert len(list(out.glob("01-*/observed-*"))) == 2
    assert not list(out.glob("02-*/*.parquet"))  # which rows are left is written, not their texts
    assert read_manifest(local_folder(out)).passes[-1]["texts"].startswith("01-")
