"""A run folder in a bucket of a real S3 server holds the bytes that one on this machine holds."""

from __future__ import annotations

from pipeline.run import execute, local_folder, plan_run
from pipeline.storage import Folder
from tests.pipeline.run.test_run import corpus
from tests.pipeline.run.toy import Counts, Shorts, Shout, Unique, recipe


def bytes_of(out: Folder) -> dict[str, bytes]:
    return {
        n: out.get(n)
        for n in out.names()
        if n.startswith("data/") or "/ledger/" in n or n.endswith(("drops.json", "count.json"))
    }


def test_a_run_in_a_bucket_leaves_the_bytes_of_one_in_a_folder_and_run_again_changes_nothing(tmp_path, s3):
    plan = plan_run(recipe(corpus(tmp_path / "in"), (Shout(), Unique(), Shorts(minimum=11), Counts())))
    here, there = local_folder(tmp_path / "out"), local_folder(f"{s3}/run")
    execute(plan, here, workers=2)
    first = execute(plan, there, workers=2)
    assert bytes_of(there) == bytes_of(here)
    assert len(bytes_of(there)) > 4
    again = execute(plan, there, workers=2)
    assert (first.unchanged, again.unchanged) == (False, True)
    assert not [name for name in there.names() if name.startswith(".next")]
