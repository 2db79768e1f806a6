"""A run folder in a bucket of a real S3 server holds the bytes that one on this machine holds."""

from __future__ import annotations

import gzip
import json

import pytest

from pipeline.errors import RecipeError, StorageError
from pipeline.recipe import load_recipe
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


RECIPE = """
name = "elsewhere"
[input]
paths = [{ path = "S3/in/*.jsonl", source = "web" }, { path = "S3/in/more.paths.gz", source = "listed" }]
[[stage]]
use = "decontaminate"
evals = ["S3/evals/*.jsonl"]
[[stage]]
use = "python"
file = "S3/rules.py"
function = "keep"
"""


def test_inputs_lists_of_them_evaluation_sets_and_rules_may_lie_in_a_bucket(tmp_path, s3):
    folder = Folder(s3)
    line = "It rained on the harbour all day, and nobody came to look at the boats. They left early. It was quiet {}."
    texts = [line.format(n) for n in range(4)]
    question = (
        "Which of the nine ferries that cross the river at night carries the mail to the upper villages in winter?"
    )
    for name, some in (
        ("in/a", [*texts[:2], question + " Ask. Then ask again."]),
        ("in/b", texts[2:3]),
        ("other/c", texts[3:]),
    ):
        folder.put(f"{name}.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in some).encode())
    folder.put("in/more.paths.gz", gzip.compress(b"../other/c.jsonl\n".replace(b"..", s3.encode())))
    folder.put("evals/quiz.jsonl", json.dumps({"question": question}).encode())
    folder.put("rules.py", b"def keep(document):\n    return 'quiet 1' not in document.text\n")
    (tmp_path / "recipe.toml").write_text(RECIPE.replace("S3", s3))
    recipe = load_recipe(tmp_path / "recipe.toml")
    assert [file.path.removeprefix(s3) for file in recipe.inputs] == ["/in/a.jsonl", "/in/b.jsonl", "/other/c.jsonl"]
    finished = execute(plan_run(recipe), local_folder(f"{s3}/run"), workers=1)
    assert (finished.summary.read, finished.summary.kept) == (5, 3)
    assert set(finished.summary.dropped) == {"decontaminate", "python"}
    table = (Folder(s3) / "run/data").get_table("part-00000.parquet")
    assert table["source"].to_pylist() == ["web", "web", "listed"]
    folder.put("other/c.jsonl", json.dumps({"text": texts[3] + " And cold."}).encode())
    again = execute(plan_run(load_recipe(tmp_path / "recipe.toml")), local_folder(f"{s3}/run"), workers=1)
    assert not again.unchanged  # an object that was replaced is another input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[input]\npaths = ["s3://none-such/*.jsonl"]',
            r"input.paths\[0\]: cannot read s3://none-such .there is no such",
        ),
        ('[input]\npaths = ["S3/*.jsonl"]', r"input.paths\[0\]: nothing matches s3://"),
        ('[storage]\nregin = "x"\n[input]\npaths = ["S3/*"]', r"storage.regin: unknown"),
        (
            '[storage."s3://b"]\nsecret_key = "x"\n[input]\npaths = ["S3/*"]',
            r'storage."s3://b".secret_key: is no place',
        ),
    ],
)
def test_what_is_wrong_with_a_place_of_inputs_is_said_with_its_key(tmp_path, s3, text, said):
    (tmp_path / "recipe.toml").write_text(text.replace("S3", s3))
    with pytest.raises(RecipeError, match=said):
        load_recipe(tmp_path / "recipe.toml")


def test_an_object_that_is_replaced_while_it_is_read_is_no_mixture_of_both(s3):
    folder = Folder(s3)
    folder.put("f", b"a" * 3_000_000)
    with folder.open("f", 1000) as file:
        assert file.read(10) == b"a" * 10
        folder.put("f", b"b" * 3_000_000)
        with pytest.raises(StorageError, match="was replaced while it was read"):
            file.read()
