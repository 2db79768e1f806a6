"""What-if: the answer from signals is what a run with the same change comes to."""

import json
import pathlib
import random
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tokenmill
from pipeline.errors import AccountingError, RecipeError, UserError
from pipeline.executors.here import run_here
from pipeline.recipe import load_recipe
from pipeline.run import execute, local_folder, plan_run
from tokenmill.cli import main
from tokenmill.what_if import FinishedRun
from tokenmill.worth import cheaper, worth_of

GOPHER = {"use": "gopher_quality", "words": "whitespace", "min_doc_words": 30}
REPETITION = {"use": "gopher_repetition", "words": "whitespace"}
C4 = {"use": "c4", "min_num_sentences": 2}
FINEWEB = {"use": "fineweb", "words": "whitespace", "short_line_thr": 0.5}
RULES_PY = "def fussy(document):\n    return 'x!' not in document.text\n"
PYTHON = {"use": "python", "file": "rules.py", "function": "fussy"}
LANGUAGE = {"use": "language", "min_score": 0.0}
"""A costly stage: a pass ends behind it."""
RECIPES = {
    "rules": [GOPHER, REPETITION, C4, FINEWEB],
    "rules and dedup": [REPETITION, C4, GOPHER, {"use": "exact_dedup"}, {**FINEWEB, "short_line_thr": 0.9}],
    "a stage between": [C4, GOPHER, PYTHON, FINEWEB, {**GOPHER, "min_doc_words": 36}],
    "two passes": [GOPHER, C4, LANGUAGE, FINEWEB, REPETITION],
    "three passes and dedup": [
        FINEWEB,
        LANGUAGE,
        {**GOPHER, "min_doc_words": 20},
        {**LANGUAGE, "min_score": 0.2},
        C4,
        PYTHON,
        GOPHER,
        {"use": "exact_dedup"},
        {**FINEWEB, "short_line_thr": 0.9},
    ],
    "one language each": [{**GOPHER, "only": ["en"]}, {**GOPHER, "only": ["de"], "min_doc_words": 40}, FINEWEB],
}
CHANGES = {
    "gopher_quality.min_doc_words": [0, 5, 20, 30, 36, 54, 200],
    "gopher_quality.min_stop_words": [0, 2, 6],
    "gopher_quality.min_avg_word_length": [0, 4.1],
    "gopher_quality.mode": ['"annotate"'],
    "gopher_quality.max_non_alpha_words_ratio": [0, 0.95, 0.99],
    "gopher_repetition.dup_line_frac": [0, 0.05, 0.6],
    "gopher_repetition.dup_n_grams": ["[[5, 0.9]]", "[[6, 0.01], [10, 0.5]]", "[]"],
    "c4.min_num_sentences": [-1, 1, 3, 5],
    "fineweb.short_line_thr": [0.1, 0.5, 0.9],
    "fineweb.line_punct_thr": [0, 0.5, 0.99],
    "fineweb.char_duplicates_ratio": [0.2, 1.0],
    "gopher_quality#2.min_doc_words": [10, 30, 60],
}


def values(some):
    """`some` values of a parameter, or any between the least and the greatest of them."""
    if any(isinstance(value, str) for value in some):
        return st.sampled_from(some)
    between = st.integers if all(isinstance(value, int) for value in some) else st.floats
    return st.one_of(st.sampled_from(some), between(min(some), max(some)))


STOPS = ("the", "be", "to", "of", "and", "that", "have", "with")
WORDS = [
    a + b + c
    for a in ("mil", "ri", "whe", "sto", "fa")
    for b in ("la", "ver", "at", "ne", "rm")
    for c in ("", "s", "ing", "ed")
]


def document(number: int) -> str:
    """Return a text that some of the rules may not like."""
    chance = random.Random(number)

    def sentence() -> str:
        words = [chance.choice(STOPS if chance.random() < 0.4 else WORDS) for _ in range(chance.randint(5, 14))]
        return " ".join(words).capitalize() + "."

    lines = [sentence() for _ in range(chance.randint(1, 7))]
    odd = [
        "no end to this line",
        "Short.",
        "# # # #",
        "- a point",
        "Wait...",
        "A { of code.",
        "Lorem ipsum dolor sit.",
        "x!",
        lines[0],
    ]
    for _ in range(chance.choice([0, 0, 0, 1, 2, 4])):
        lines.insert(chance.randint(0, len(lines)), chance.choice(odd))
    return "\n".join(lines)


def write_recipe(folder: pathlib.Path, stages, name="r") -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": str(n), "text": text, "language": "de" if n % 3 == 0 else "en"}
        for n, text in enumerate([*map(document, range(80)), *map(document, range(5)), ""])
    ]
    (folder / "rules.py").write_text(RULES_PY)
    pq.write_table(pa.Table.from_pylist(rows), folder / "in.parquet")
    table = {"name": name, "input": {"paths": ["in.parquet"]}, "stage": stages, "limits": {"batch_bytes": 3000}}
    (folder / "r.toml").write_text(tomli_w.dumps(table))
    return folder / "r.toml"


def run(recipe: pathlib.Path, out: pathlib.Path, changes=()):
    plan = plan_run(load_recipe(recipe, list(changes)))
    return execute(plan, local_folder(out), workers=1, executor=run_here).summary


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Finished runs of `RECIPES`, by name: recipe, folder."""
    found = {}
    for name, stages in RECIPES.items():
        folder = tmp_path_factory.mktemp("run")
        recipe = write_recipe(folder / "recipe", stages)
        run(recipe, folder / "out")
        found[name] = recipe, folder / "out"
    return found


def answered(out, changes):
    finished = FinishedRun(local_folder(out))
    return finished, finished.answer(finished.changed(changes))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", list(RECIPES))
def test_the_answer_is_what_a_run_with_the_same_change_comes_to(runs, tmp_path, name, data):
    recipe, out = runs[name]
    labels = FinishedRun(local_folder(out)).stages
    known = [key for key in CHANGES if key.rpartition(".")[0] in labels]
    keys = data.draw(st.lists(st.sampled_from(known), unique=True, max_size=3))
    changes = [f"{key}={data.draw(values(CHANGES[key]))}" for key in keys]
    finished, answer = answered(out, changes)
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    truth = run(recipe, tmp_path / "other", changes)

    order = [line.stage for line in truth.stages]
    upto = order.index(answer.exact_up_to) + 1
    assert answer.dropped == {k: v for k, v in truth.dropped.items() if k in order[:upto]}
    assert answer.kept == truth.stages[upto - 1].documents_out
    behind = finished.summary.stages[upto - 1].documents_out
    assert int(answer.into.sum()) - int(answer.out.sum()) == answer.kept - behind
    assert "exact_dedup" not in order[:upto] or order[upto - 1 :] == order[-1:]


def test_documents_that_come_in_and_go_are_those_of_the_run(runs, tmp_path):
    recipe, out = runs["rules"]
    _, answer = answered(out, ["gopher_quality.min_doc_words=36", "c4.filter_curly_bracket=false"])
    run(recipe, tmp_path / "other", ["gopher_quality.min_doc_words=36", "c4.filter_curly_bracket=false"])
    ids = [
        set(ds.dataset(folder / "data").to_table(columns=["id"])["id"].to_pylist())
        for folder in (out, tmp_path / "other")
    ]
    numbers = answer.step.column("number")
    rows = [str(n) for n in range(86)]
    assert {rows[n] for n in numbers[answer.into]} == ids[1] - ids[0] != set()
    assert {rows[n] for n in numbers[answer.out]} == ids[0] - ids[1] != set()


def test_nothing_changed_is_the_run_itself_to_its_last_stage(runs):
    for _, out in runs.values():
        finished, answer = answered(out, [])
        assert (answer.kept, answer.dropped) == (finished.summary.kept, finished.summary.dropped)
        assert answer.exact_up_to == finished.order[-1]


def test_it_is_exact_up_to_the_end_of_the_row_where_documents_come_in_and_further_where_none_does(runs):
    _, out = runs["a stage between"]
    assert answered(out, ["gopher_quality.min_doc_words=0"])[1].exact_up_to == "gopher_quality"
    assert answered(out, ["gopher_quality.min_doc_words=36"])[1].exact_up_to == "gopher_quality#2"
    assert answered(out, ["fineweb.short_line_thr=0.9"])[1].exact_up_to == "gopher_quality#2"


def test_where_documents_only_go_it_is_exact_through_all_passes_before_the_corpus_stage(runs, tmp_path):
    for name, last in (("two passes", "gopher_repetition"), ("three passes and dedup", "gopher_quality#2")):
        recipe, out = runs[name]
        changes = ["gopher_quality.min_doc_words=50", "fineweb.line_punct_thr=0.5"]
        finished, answer = answered(out, changes)
        truth = run(recipe, tmp_path / name, changes)
        assert answer.exact_up_to == last
        order = [line.stage for line in truth.stages]
        assert answer.dropped == {k: v for k, v in truth.dropped.items() if k in order[: order.index(last) + 1]}
        assert answer.dropped != finished.summary.dropped
        assert not answer.there.all()


def test_people_see_what_changes_in_a_later_pass(runs, capsys):
    _, out = runs["two passes"]
    assert main(["what-if", str(out), "--set", "gopher_quality.min_doc_words=50"]) == 0
    said = capsys.readouterr().out
    assert "left behind gopher_repetition" in said
    assert "goes:" in said


def test_it_never_answers_for_a_corpus_stage_whose_documents_are_others(runs):
    _, out = runs["rules and dedup"]
    assert answered(out, ["c4.filter_curly_bracket=false"])[1].exact_up_to == "gopher_quality"


def test_json_has_just_the_four_keys(runs, capsys):
    _, out = runs["rules"]
    assert main(["what-if", str(out), "--set", "gopher_quality.min_doc_words=36", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["kept", "dropped", "changed", "exact_up_to"]
    assert set(answer["changed"]) == {"in", "out"}


def test_people_see_what_changes_by_rule_and_texts_that_come_in_and_go(runs, capsys):
    _, out = runs["rules"]
    changes = ["--set", "gopher_quality.min_doc_words=36", "--set", "c4.filter_curly_bracket=false"]
    assert main(["what-if", str(out), *changes]) == 0
    said = capsys.readouterr().out
    assert "comes in:" in said
    assert "goes:" in said
    assert said.count(" bytes)\n    ") == 5  # three of those that come in, both that go
    assert "exactly what a run would leave there" in said


def test_a_sweep_is_a_point_for_each_value(runs, capsys):
    _, out = runs["rules"]
    assert main(["what-if", str(out), "--sweep", "gopher_quality.min_doc_words=0,30,50", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)
    assert [point["value"] for point in points] == ["0", "30", "50"]
    assert points[0]["kept"] >= points[1]["kept"] > points[2]["kept"]
    assert points[1]["changed"] == {"in": 0, "out": 0}
    assert main(["what-if", str(out), "--sweep", "gopher_quality.min_doc_words=0,30,50"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("gopher_quality.words=spacy", "changes what is measured, or the text"),
        ("c4.mode=annotate", "changes what is measured, or the text"),
        ("c4.filter_policy=false", "changes what is measured, or the text"),
        ("gopher_repetition.top_n_grams=[[7, 0.2]]", "changes what is measured"),
        ("gopher_quality.min_word=3", "unknown; did you mean min_doc_words"),
        ("gopher_quality.min_doc_words=many", "must be a whole number"),
        ("gopher.min_doc_words=3", "the recipe has no stage 'gopher'"),
        ("limits.cpu_seconds=3", "no signals answer for limits"),
        ("min_doc_words", "must be STAGE.KEY=VALUE"),
    ],
)
def test_what_signals_cannot_answer_is_refused(runs, capsys, change, said):
    _, out = runs["rules"]
    assert main(["what-if", str(out), "--set", change]) == 2
    assert said in capsys.readouterr().err


def test_a_run_without_signals_and_a_folder_without_a_run_are_refused(tmp_path, capsys):
    recipe = write_recipe(tmp_path / "recipe", RECIPES["rules"])
    run(recipe, tmp_path / "out", ["output.signals=false"])
    assert main(["what-if", str(tmp_path / "out")]) == 2
    assert "has no signals" in capsys.readouterr().err
    assert main(["what-if", str(tmp_path / "nowhere")]) == 2


def test_signals_that_are_not_those_of_the_run_are_found_out(runs, tmp_path):
    _, out = runs["rules"]
    shutil.copytree(out, tmp_path / "out")
    path = tmp_path / "out/summary.json"
    summary = json.loads(path.read_text())
    rules = summary["dropped"]["c4"]
    rules[next(iter(rules))] += 1
    path.write_text(json.dumps(summary))
    with pytest.raises(AccountingError, match="the signals of c4 say"):
        answered(tmp_path / "out", [])


def test_what_a_rule_removes_alone_is_what_comes_back_without_it(runs):
    _, out = runs["rules"]
    finished = FinishedRun(local_folder(out))
    found = worth_of(finished, finished.stages)
    by_rule = {(r["stage"], r["rule"]): r for r in found["rules"]}
    for key, rule in (
        ("gopher_quality.min_doc_words=0", "gopher_short_doc"),
        ("c4.min_num_sentences=-1", "too_few_sentences"),
    ):
        answer = finished.answer(finished.changed([key]))
        assert by_rule[key.partition(".")[0], rule]["alone"] == int(answer.into.sum())
    for row in found["rules"]:
        assert row["alone"] <= row["breaks"] >= row["drops"]
    assert sum(r["drops"] for r in found["rules"]) == sum(sum(r.values()) for r in finished.summary.dropped.values())


def test_the_cheaper_order_puts_what_drops_much_for_little_first():
    breaks = {"dear": np.array([True, False, False, False]), "cheap": np.array([False, True, True, True])}
    order = cheaper(["dear", "cheap"], breaks, {"dear": 4.0, "cheap": 1.0})
    assert order == {"order": ["cheap", "dear"], "saving": pytest.approx(1 - 2.0 / 4.75)}
    assert cheaper(["cheap", "dear"], breaks, {"dear": 4.0, "cheap": 1.0}) is None


def test_python_asks_as_the_command_does(runs):
    recipe, out = runs["rules"]
    made = tokenmill.run(recipe, out=out, workers=1)
    assert made.unchanged
    assert (
        made.what_if({"gopher_quality.min_doc_words": 36})
        == answered(out, ["gopher_quality.min_doc_words=36"])[1].as_dict()
    )


def test_a_change_that_no_stage_can_have_is_refused(runs):
    _, out = runs["rules"]
    finished = FinishedRun(local_folder(out))
    with pytest.raises((RecipeError, UserError)):
        finished.changed(["gopher_quality.max_doc_words=1"])
