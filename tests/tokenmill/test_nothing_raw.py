"""Nothing of a document reaches people raw: not on a terminal, not in an error, not on a page."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError, RecipeError
from pipeline.visible import visible, visible_json
from tokenmill.cli import main

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
EVIL = "\x1b[31mred\x07 \u202eright to left\u2066 \x9b0m\u2028 \x00 \U000e0041"


@given(st.text())
def test_what_is_made_visible_prints_and_is_as_it_was_where_nothing_was_hidden(text):
    shown = visible(text)
    assert not RAW.search(shown.replace("\t", "").replace("\n", ""))
    shown.encode("utf-8")
    assert visible(shown) == shown


@pytest.mark.parametrize("text", ["Grüße", "日本語", "שלום", "👩🏽‍🚀", "می‌خواهم", "a - b", "क्‍ष"])
def test_honest_text_in_any_script_is_left_alone(text):
    assert visible(text) == text


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_json_in_which_nothing_is_hidden_reads_back_as_it_was(text, table):
    value = {"text": text, "table": table}
    shown = visible_json(value, indent=1)
    assert json.loads(shown) == value
    assert not RAW.search(shown)


@pytest.mark.parametrize("kind", [InputError, lambda said: RecipeError("input", said)])
def test_an_error_shows_what_is_in_a_message(kind):
    assert not RAW.search(str(kind(f"{EVIL}: cannot be read")))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Everything that the commands print of a run over documents that try to take over the terminal, and its page."""
    place = tmp_path_factory.mktemp("raw")
    lines = [
        {"id": f"{EVIL}{n}", "url": f"http://x/{EVIL}", "source": EVIL, "text": f"{EVIL} {n % 3} " * 9}
        for n in range(6)
    ]
    (place / f"in{EVIL[:4]}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{" + EVIL + "\n")
    (place / "recipe.toml").write_text(
        '[input]\npaths = ["*.jsonl"]\n[limits]\nfailed_share = 1\n[[stage]]\nuse = "exact_dedup"\n[[stage]]\nuse = "c4"\n'
    )
    commands = [
        ["run", "recipe.toml", "--out", "out"],
        ["inspect", "out", "--kind", "document"],
        ["inspect", "out", "--json"],
        ["report", "out"],
        ["run", f"no{EVIL[1:9]}.toml"],
        ["run", "recipe.toml", "--set", f"c4.{EVIL[1:9]}=1"],
    ]
    said = {}
    for command in commands:
        out = io.StringIO()
        with contextlib.chdir(place), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main(command)
        said[" ".join(command)] = (code, out.getvalue())
    return place, said


def test_no_command_prints_what_moves_a_cursor_or_turns_a_line(shown):
    _, said = shown
    assert [code for code, _ in said.values()] == [0, 0, 0, 0, 2, 2], said
    assert {command: RAW.findall(text.replace("\n", "")) for command, (_, text) in said.items()} == {
        command: [] for command in said
    }


def test_the_page_shows_marks_in_place_of_what_cannot_be_seen(shown):
    page = (shown[0] / "out/report.html").read_text("utf-8")
    assert not RAW.search(page)
    assert "\\x1b[31mred" in page


def test_the_page_tells_nothing_of_where_the_run_was_made(shown):
    assert str(shown[0]) not in (shown[0] / "out/report.html").read_text("utf-8")


def test_inspect_gives_programs_what_was_there(shown):
    rows = [json.loads(line) for line in shown[1]["inspect out --json"][1].splitlines() if line.startswith("{")]
    assert any(EVIL in (row["source"] or "") for row in rows)


def test_a_ledger_of_no_characters_holds_nothing_of_any_text_and_what_stages_print_is_no_result(tmp_path):
    secret = "the secret word is xyzzy"
    lines = [
        {"id": "a", "text": f"{secret}. {secret}. \n[1] {secret}"},
        {"id": "b", "text": secret},
        {"id": "c", "text": secret},
    ]
    body = "".join(json.dumps(line) + "\n" for line in lines) + '{"text": "' + secret + "\n"
    (tmp_path / "in.jsonl").write_text(body)
    (tmp_path / "rule.py").write_text(
        "import os\nprint('imported')\ndef rule(document):\n    print('judged \\x1b[31m')\n    os.write(1, b'written\\n')\n"
        "    os.write(2, b'\\x1b]0;title\\x07complained \\xe2\\x80\\xae\\n')\n"
        "    if document.get('id') == 'b': raise ValueError(document.text)\n"
    )
    (tmp_path / "recipe.toml").write_text(
        '[input]\npaths = ["*.jsonl"]\n[limits]\nfailed_share = 1\n[ledger]\ntext_characters = 0\n'
        '[[stage]]\nuse = "python"\nfile = "rule.py"\nfunction = "rule"\n[[stage]]\nuse = "c4"\n'
    )
    command = [sys.executable, "-m", "tokenmill", "run", "recipe.toml", "--out", "out", "--json"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert json.loads(done.stdout)["balanced"], "what a stage prints is no result"
    log = (tmp_path / "out/run.log").read_text("utf-8")
    assert b"imported" in done.stderr
    assert b"judged" not in done.stderr
    assert re.search(rb"printed \d+ lines, which are in the log", done.stderr)
    for said in ("judged \\x1b[31m", "written", "\\x1b]0;title\\x07complained \\u202e"):
        assert f"printed: {said}\n" in log
    files = sorted(pathlib.Path(tmp_path / "out").glob("*/ledger/*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert {row["kind"] for row in rows} >= {"failed", "document"}
    assert "xyzzy" not in json.dumps(rows)
    assert all(row["text"] is None for row in rows)
    assert "xyzzy" not in (tmp_path / "out/report.html").read_text()
