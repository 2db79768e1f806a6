"""``tokenmill compare``: each document's end in both runs, and nothing of a document that a page would run."""

import json
import re
from collections import Counter

import pyarrow.parquet as pq
import pytest

from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder, plan_run
from tokenmill.cli import main
from tokenmill.compare.page import page
from tokenmill.compare.runs import compare, differing

EVIL = "</script><img src=x onerror=alert(1)>\u202ereversed\x1b[31m"
GOPHER = {"use": "gopher_quality", "words": "whitespace", "min_doc_words": 10, "min_stop_words": 0}


def documents():
    """Documents of 1 to 40 words; every fifth is a copy of the one before it, and two have the same id and url."""
    for n in range(40):
        words = n if n % 5 == 4 else n + 1
        text = " ".join(["the", "mill", "and", "river"][k % 4] + ("" if words % 2 else "s") for k in range(words))
        yield {"id": "twice" if n in (3, 33) else f"d{n}{EVIL}", "text": text}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("compare")
    (place / "a.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents()))
    (place / "b.jsonl").write_text("".join(json.dumps({**d, "id": f"b {d['id']}"}) + "\n" for d in documents()))

    def run(name, stages, paths="a.jsonl", **tables):
        recipe = build_recipe({"name": name, "input": {"paths": paths}, "stage": stages, **tables}, place)
        execute(plan_run(recipe), local_folder(place / name), workers=1, executor=run_here)
        return place / name

    return {
        "low": run("low", [GOPHER, {"use": "exact_dedup"}]),
        "high": run("high", [{**GOPHER, "min_doc_words": 30}, {"use": "exact_dedup"}]),
        "turned": run("turned", [{"use": "exact_dedup"}, GOPHER]),
        "more": run("more", [GOPHER, {"use": "exact_dedup"}], ["a.jsonl", "b.jsonl"]),
        "bare": run("bare", [GOPHER], output={"columns": ["text"]}),
    }


def ends(out):
    """Return how often each (id, end) occurs, read by another way than the code's."""
    found = Counter()
    for file in out.glob("data/*.parquet"):
        found.update((i, "kept") for i in pq.read_table(file)["id"].to_pylist())
    for file in out.glob("*/ledger/*.parquet"):
        found.update((r["id"], f"{r['stage']}: {r['rule']}") for r in pq.read_table(file).to_pylist())
    return found


@pytest.mark.parametrize(("a", "b"), [("low", "high"), ("high", "low"), ("low", "turned"), ("low", "more")])
def test_the_changes_are_the_difference_between_the_ends_of_all_documents(runs, a, b):
    found = compare(local_folder(runs[a]), local_folder(runs[b]))
    first, second = ends(runs[a]), ends(runs[b])
    gone = Counter(end for (_, end), n in (first - second).items() for _ in range(n))
    come = Counter(end for (_, end), n in (second - first).items() for _ in range(n))
    said_gone, said_come = Counter(), Counter()
    for change in found.changes:
        said_gone[change.before] += change.documents
        said_come[change.after] += change.documents
    for counter in (said_gone, said_come):
        del counter["not read"]
    assert (said_gone, said_come) == (gone, come)
    sides = found.sides()
    assert found.b.summary.kept - found.a.summary.kept == sides["kept_only_by_b"] - sides["kept_only_by_a"] + sum(
        c.documents for c in found.changes if c.before == "not read" and c.after == "kept"
    )


def test_a_change_names_its_rule_and_shows_documents_with_what_was_measured(runs):
    found = compare(local_folder(runs["low"]), local_folder(runs["high"]))
    change = found.changes[0]
    assert (change.before, change.after) == ("kept", "gopher_quality: gopher_short_doc")
    assert all(row["threshold"] == 30 and 10 <= row["value"] < 30 and row["text"] for row in change.examples)


def test_a_run_against_itself_has_no_change(runs):
    found = compare(local_folder(runs["low"]), local_folder(runs["low"]))
    assert (found.changes, found.recipe, set(found.sides().values())) == ([], [], {0})


def test_stages_in_another_order_stand_beside_each_other(runs):
    found = compare(local_folder(runs["low"]), local_folder(runs["turned"]))
    assert [row["stage"] for row in found.funnel] == ["read", "exact_dedup", "gopher_quality"]
    assert all(row["a"] and row["b"] for row in found.funnel)


def test_documents_without_id_are_said_not_to_be_comparable_and_the_rest_is_told(runs, capsys):
    assert main(["compare", str(runs["low"]), str(runs["bare"])]) == 0
    said = capsys.readouterr().out
    assert "have no id and url" in said
    assert "gopher_quality" in said


def test_the_command_prints_text_and_json_and_writes_a_page(runs, tmp_path, capsys):
    command = ["compare", str(runs["low"]), str(runs["high"])]
    assert main([*command, "--out", str(tmp_path / "page.html")]) == 0
    assert "gopher_quality.min_doc_words  10  30" in re.sub(" {2,}", "  ", capsys.readouterr().out)
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["changed"]["kept_only_by_a"] == sum(
        c["documents"] for c in told["changed"]["changes"] if c["a"] == "kept"
    )
    assert {"key": "gopher_quality.min_doc_words", "a": 10, "b": 30} in told["recipe"]
    assert (told["a"]["read"], told["b"]["read"]) == (40, 40)
    assert "<title>low against high" in (tmp_path / "page.html").read_text("utf-8")


def test_the_page_runs_nothing_of_a_document(runs):
    made = page(compare(local_folder(runs["low"]), local_folder(runs["high"])))
    assert "onerror" in made
    assert not re.search("<img|<script|\x1b|\u202e", made)


def test_a_folder_without_a_run_and_a_page_that_cannot_be_written_are_one_line(runs, tmp_path, capsys):
    assert main(["compare", str(runs["low"]), str(tmp_path)]) == 2
    assert main(["compare", str(runs["low"]), str(runs["high"]), "--out", str(tmp_path / "no/page.html")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 2


def test_recipes_differ_by_leaf_and_stages_by_what_they_use():
    a = {"name": "x", "stage": [{"use": "c4"}, {"use": "c4", "k": 1}], "plan": {"gpus": 8}}
    b = {"name": "x", "stage": [{"use": "c4"}, {"use": "c4", "k": 2}, {"use": "pii"}], "plan": {"gpus": 8}}
    assert differing(a, b) == [("c4#2.k", 1, 2), ("pii", None, {"use": "pii"})]
