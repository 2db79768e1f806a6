"""What the page of a run says of when and where it was made, what has changed since, the mixture, and contamination."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UserError
from pipeline.executors.here import run_here
from pipeline.recipe import load_recipe
from pipeline.run import execute, local_folder, plan_run
from pipeline.run.execution import DONE, FAILED, RUNNING, STOPPED, Execution, executions_with, since_published
from pipeline.run.folder import read_manifest, read_unfinished
from tokenmill.cli import main
from tokenmill.products import add_products
from tokenmill.report import html
from tokenmill.report.page import page_of
from tokenmill.report.sections.contamination import shared
from tokenmill.report.since import changed_since

WORDS = "the old mill by the river has been of use to that town with its long bridge and the narrow road "
ITEM = "A heron waits on one leg until the third bell has rung twice over the quiet harbour of Saltmere"
RECIPE = """
name = "t"
input.paths = ["web.jsonl", { path = "books.jsonl", source = "books" }]
input.source = "web"
[[stage]]
use = "gopher_quality"
words = "whitespace"
min_doc_words = 20
min_stop_words = 0
[[stage]]
use = "exact_dedup"
[[stage]]
use = "decontaminate"
evals = ["quiz.jsonl"]
[[stage]]
use = "mix"
weights = { web = 0.5, books = 0.5 }
"""


def made(place, *overrides):
    """Run the recipe in `place` and return its folder."""
    plan = plan_run(load_recipe(place / "r.toml", overrides))
    execute(plan, local_folder(place / "out"), workers=1, executor=run_here, finish=add_products)
    return local_folder(place / "out")


@pytest.fixture
def place(tmp_path):
    web = [f"{WORDS * (n % 4)}{n} sheaves" for n in range(40)]
    web[7] = f"{WORDS * 30}Then, said the keeper: {ITEM.upper()}! {WORDS}"
    for name, texts in (("web", web), ("books", [f"{WORDS * 2}{n} barrels" for n in range(10)])):
        rows = [
            {"id": f"{name}{n}", "url": f"https://{name}.example/{n}", "text": text} for n, text in enumerate(texts)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = [
        {"id": "q1", "question": f"{ITEM}; why?"},
        {"id": "q2", "question": WORDS[::-1]},
        {"id": "q3", "question": "Short?"},
    ]
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (tmp_path / "r.toml").write_text(RECIPE)
    return tmp_path


def text_of(page):
    """Return the text of a page, cells apart."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.replace("<wbr>", ""))).replace("\u00a0", " ")


def test_a_page_says_when_and_where_its_run_was_made_and_names_neither_machine_nor_folder(place):
    before = time.time()
    page = page_of(made(place))
    execution = read_manifest(local_folder(place / "out")).executions[-1]
    assert before - 1 <= execution.started <= execution.started + execution.seconds <= time.time() + 1
    assert (execution.ended, execution.workers) == (DONE, 1)
    assert time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(execution.started)) in page
    assert f"{execution.cores} core" in page
    assert "no: recipe and inputs are as they were read" in page
    assert str(place) not in page


def test_a_run_that_finds_everything_done_leaves_when_it_was_made(place):
    made(place)
    before = read_manifest(local_folder(place / "out")).executions
    made(place)
    assert read_manifest(local_folder(place / "out")).executions == before


def test_executions_that_did_not_come_to_the_end_are_counted_with_the_one_that_did(place):
    limit = "limits.failed_share=0.001"
    with (place / "web.jsonl").open("a") as file:
        file.write('{"text": 3}\n')
    with pytest.raises(UserError):
        made(place, limit)
    assert [e.ended for e in read_unfinished(local_folder(place / "out")).executions] == [FAILED]
    page = page_of(made(place))
    ended = [e.ended for e in read_manifest(local_folder(place / "out")).executions]
    assert ended == [FAILED, DONE]
    assert "in 2 executions, 1 of which did not come to the end" in page


@given(st.lists(st.sampled_from([DONE, FAILED, STOPPED, RUNNING]), max_size=8))
def test_what_came_to_a_publication_is_what_ended_behind_the_one_before_it(ends):
    now = executions_with([Execution(n, 1.0, ended=end) for n, end in enumerate(ends)], 2)
    assert all(e.ended != RUNNING for e in now[:-1])
    now[-1].tell(DONE)
    found = since_published(now)
    assert found[-1] is now[-1]
    assert [e.ended for e in found].count(DONE) == 1
    assert len(found) == len(now) or now[-len(found) - 1].ended == DONE


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p, ""),
        (lambda p: (p / "web.jsonl").touch(), ""),
        (lambda p: (p / "r.toml").write_text(f"# another comment\n{RECIPE}"), ""),
        (lambda p: (p / "r.toml").write_text(RECIPE.replace("= 20", "= 21")), "gopher_quality.min_doc_words"),
        (lambda p: (p / "web.jsonl").write_text("{}\n"), "input changed: web.jsonl"),
        (lambda p: (p / "books.jsonl").unlink(), "no longer there"),
        (lambda p: (p / "r.toml").unlink(), "cannot be read here"),
        (lambda p: (p / "r.toml").write_text("[["), "no longer TOML"),
    ],
    ids=["nothing", "a time", "a comment", "a setting", "an input", "an input gone", "no recipe", "no TOML"],
)
def test_what_has_changed_since_a_run_is_named(place, change, said):
    out = made(place, "gopher_quality.max_doc_words=90000")
    change(place)
    told = changed_since(read_manifest(out), out)
    assert said in "; ".join(told)
    assert bool(told) == bool(said)
    assert ("Since this run: " in page_of(out)) == bool(said)


@pytest.mark.parametrize(("asked", "said"), [([], "no price"), (["--cpu-price", "360"], "an hour")])
def test_a_cost_needs_a_price(place, asked, said, capsys):
    made(place)
    assert main(["report", str(place / "out"), *asked]) == 0
    assert said in (place / "out/report.html").read_text()
    assert main(["report", str(place / "out"), "--cpu-price", "much"]) == 2
    assert "--cpu-price" in capsys.readouterr().err


def test_a_run_over_which_a_later_one_failed_says_which_of_them_stands(place, capsys):
    made(place)
    (place / "r.toml").write_text(f"{RECIPE.replace('= 20', '= 30')}[limits]\nfailed_share = 0.001\n")
    with (place / "web.jsonl").open("a") as file:
        file.write('{"text": 3}\n')
    with pytest.raises(UserError):
        made(place)
    assert main(["report", str(place / "out")]) == 0
    for said in (capsys.readouterr().out, text_of((place / "out/report.html").read_text())):
        said = " ".join(said.split())
        assert "A later run in this folder, of other settings or inputs" in said
        assert "gopher_quality.min_doc_words" in said
        assert "failed_share" in said
        assert "What stands here, and is told below, is what the one before it made" in said


def test_a_run_that_has_never_finished_tells_what_stands_and_what_failed_where(place, capsys):
    with (place / "web.jsonl").open("a") as file:
        file.write('{"text": 3}\n')
    with pytest.raises(UserError):
        made(place, "limits.failed_share=0.001")
    assert main(["report", str(place / "out")]) == 1
    assert "has not finished" in capsys.readouterr().out
    page = text_of((place / "out/report.html").read_text())
    assert "Nothing of it is published" in page
    assert re.search(r"not_a_text read 1 web\.jsonl@\d+", page)


def test_the_funnel_is_told_in_documents_and_in_bytes_of_text(place):
    out = made(place)
    stages = out.get_json("summary.json")["stages"]
    page = text_of(page_of(out))
    for stage in stages:
        assert stage["bytes_out"] <= out.get_json("summary.json")["bytes_in"]
    assert stages[-1]["bytes_out"] == out.get_json("summary.json")["bytes_out"]
    lost = stages[0]
    assert re.search(rf"{lost['stage']} {re.escape(html.size(lost['bytes_out']))} ", page)


def test_of_each_source_stands_what_was_wanted_reached_and_limited_it(place):
    page = text_of(page_of(made(place)))
    mixture = page[page.index("The mixture (mix)") :]
    assert re.search(r"books 50 % \S+ kB \S+ kB \S+ kB \d+ % 1\.00 its text: all is taken", mixture)
    assert re.search(r"web 50 % \S+ kB \S+ kB \S+ kB \d+ % 0\.\d\d its share", mixture)


def test_an_evaluation_item_stands_beside_the_passage_that_gives_it_away(place):
    page = page_of(made(place, "ledger.text_characters=100"))
    assert re.search(r"quiz 3 2 1 50 % 1 q1", text_of(page))
    told = page[page.index("Evidence of quiz") :]
    assert f"<mark>{ITEM}</mark>" in told
    assert f"<mark>{ITEM.upper()}</mark>" in told


def test_no_text_of_an_item_stands_where_the_ledger_keeps_none(place):
    page = page_of(made(place, "ledger.text_characters=0"))
    assert "evaluation set" in page
    assert "heron" not in page.lower()


ALPHABET = st.text("abcé 日本.,-", max_size=30)


@given(ALPHABET, ALPHABET, st.text("abcé日", min_size=3, max_size=12), ALPHABET, ALPHABET)
def test_what_is_marked_in_both_texts_is_the_same_but_for_case_accents_and_signs(a, b, gram, c, d):
    item, document = f"{a}{gram}{b}", f"{c}{gram.upper()}{d}"
    found = shared(item, document, gram)
    assert found is not None
    plain = [re.sub(r"\W", "", text[slice(*span)]).lower().replace("é", "e") for text, span in ((item, found.item), (document, found.document))]  # fmt: skip
    assert plain[0] == plain[1]
    assert gram.replace("é", "e") in plain[0]


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0"), (253_396, "253,396"), (987_654_321, "987,654,321"), (5.72e12, "5.72 T")]
)
def test_a_large_count_is_told_in_three_digits(number, said):
    assert html.count(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0123, "0.012 s"), (9.87, "9.9 s"), (59, "59 s"), (125, "2 min 5 s"), (7300, "2 h 1 min"), (200_000, "2 d 7 h")],
)
def test_a_time_is_told_as_people_say_it(seconds, said):
    assert html.duration(seconds) == said
