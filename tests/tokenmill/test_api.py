"""The Python interface: stages on what is in memory, and whole runs, from scripts without a main guard."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pandas
import polars
import pyarrow as pa
import pytest

import tokenmill
from pipeline.errors import UserError
from pipeline.stage import Drop, Keep
from stages.dedup.exact_dedup import ExactDedup
from stages.dedup.minhash_dedup import MinHashDedup

LONG = "The old mill by the river has ground wheat since the spring of the year in which the bridge was built. "
TEXTS = [LONG * 3, "short", LONG * 3, "another text that stays here for good"]


def is_long(document):
    return len(document.text) > 10


def test_texts_in_texts_out_with_everything_removed_accounted_for():
    kept, removed, tally = tokenmill.apply([is_long, ExactDedup()], TEXTS)
    assert kept == [TEXTS[0], TEXTS[3]]
    assert (tally.read, tally.kept, tally.balanced) == (4, 2, True)
    assert tally.dropped == {"is_long": {"is_long": 1}, "exact_dedup": {"exact_duplicate": 1}}
    assert sorted(removed["id"].to_pylist()) == ["1", "2"]


def test_near_duplicates_are_removed_in_memory_as_in_a_run():
    kept, removed, _ = tokenmill.apply([MinHashDedup()], [LONG * 6, LONG * 6 + "And more."])
    assert kept == [LONG * 6]
    assert removed["partner_id"].to_pylist() == ["0"]


def test_a_table_keeps_its_columns_and_order():
    table = pa.table({"n": [1, 2, 3], "text": ["one two three four", "no", "five six seven eight"]})
    kept, _, _ = tokenmill.apply([is_long], table)
    assert kept.to_pydict() == {"n": [1, 3], "text": ["one two three four", "five six seven eight"]}


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_a_data_frame_in_is_a_data_frame_out(frame):
    kept, removed, _ = tokenmill.apply([is_long], frame({"text": TEXTS, "n": [0, 1, 2, 3]}))
    assert isinstance(kept, frame)
    assert isinstance(removed, frame)
    assert kept["n"].to_list() == [0, 2, 3]


def test_a_data_set_in_is_a_data_set_out():
    datasets = pytest.importorskip("datasets")
    kept, _, _ = tokenmill.apply([is_long], datasets.Dataset.from_dict({"text": TEXTS}))
    assert isinstance(kept, datasets.Dataset)
    assert kept["text"][:] == [TEXTS[0], TEXTS[2], TEXTS[3]]


def test_a_function_may_answer_a_text_a_keep_or_a_drop_with_what_it_measured():
    def rule(document):
        if document.text == "short":
            return Drop("too_short", len(document.text), 10)
        return document.text.upper() if "mill" in document.text else Keep(text="changed")

    kept, removed, _ = tokenmill.apply([rule], TEXTS[:2] + TEXTS[3:])
    assert kept == [TEXTS[0].upper(), "changed"]
    (row,) = removed.to_pylist()
    assert (row["stage"], row["rule"], row["value"], row["threshold"]) == ("rule", "too_short", 5.0, 10.0)


def test_a_function_that_answers_something_else_fails_the_document_and_says_what_is_allowed():
    _, removed, tally = tokenmill.apply([lambda document: 3], ["text"])
    assert tally.failed == 1
    assert "answer True, False, None" in removed["detail"][0].as_py()


def test_no_documents_are_kept_as_none():
    assert tokenmill.apply([is_long, ExactDedup()], []).kept == []


@pytest.mark.parametrize(
    ("stages", "documents", "says"),
    [
        ([is_long], "one text", "documents is a str"),
        ([is_long], ["a", 3], "documents[1] is a int"),
        ([is_long], pa.table({"body": ["a"]}), "no column 'text'"),
        ([ExactDedup], ["a"], "give an instance"),
        ([MinHashDedup(threshold=2.0)], ["a"], "stages[0] (minhash_dedup).threshold"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(stages, documents, says):
    with pytest.raises(UserError) as fault:
        tokenmill.apply(stages, documents)
    assert says in str(fault.value)


SCRIPT = """
import tokenmill
from stages.dedup.exact_dedup import ExactDedup

LIMIT = 10
def keep_long(document):
    return len(document.text) > LIMIT

run = tokenmill.run(stages=[keep_long, ExactDedup()], inputs=["in/*.jsonl"], out="out", workers=2)
print(run.summary.kept, run.unchanged, run.documents().count_rows(), run.removed().num_rows)
"""


def test_a_run_of_functions_works_from_a_script_without_a_main_guard_and_a_second_time_changes_nothing(tmp_path):
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (tmp_path / "in/a.jsonl").write_text(lines)
    (tmp_path / "script.py").write_text(SCRIPT)
    for unchanged in (False, True):
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.stdout.split() == ["2", str(unchanged), "2", "2"], done.stderr


def test_a_recipe_runs_with_changes_and_a_rule_of_its_own(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (tmp_path / "rules.py").write_text("def keep(document):\n    return len(document.text) > 10\n")
    (tmp_path / "recipe.toml").write_text(
        '[input]\npaths = ["a.jsonl"]\n[[stage]]\nuse = "python"\nfile = "rules.py"\nfunction = "keep"\n'
        '[[stage]]\nuse = "exact_dedup"\nnormalise = true\n'
    )
    run = tokenmill.run(tmp_path / "recipe.toml", out=tmp_path / "out", set={"exact_dedup.normalise": False}, workers=1)
    assert run.summary.kept == 2
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["recipe"]["stage"][1]["normalise"] is False
    (tmp_path / "rules.py").write_text("def keep(document):\n    return True\n")
    again = tokenmill.run(tmp_path / "recipe.toml", out=tmp_path / "out", workers=1)
    assert again.summary.kept == 3


def test_a_fault_in_a_rule_file_names_the_file_and_the_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    rules = tmp_path / "rules.py"
    rules.write_text("x = 1\ny = 1 / 0\ndef keep(d): return True\n")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[input]\npaths = ["a.jsonl"]\n[[stage]]\nuse = "python"\nfile = "rules.py"\nfunction = "keep"\n')
    with pytest.raises(UserError, match=r"stages\[0\]\.file: .*rules\.py, line 2: ZeroDivisionError"):
        tokenmill.run(recipe, out=tmp_path / "out")
    rules.write_text("def other(d): return True\n")
    with pytest.raises(UserError, match=r"no function 'keep'; its functions: other"):
        tokenmill.run(recipe, out=pathlib.Path(tmp_path / "out"))
