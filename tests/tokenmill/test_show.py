"""`tokenmill show`: documents of runs and files."""

import json

import pytest

from pipeline.executors.here import run_here
from pipeline.recipe import load_recipe
from pipeline.run import execute, local_folder
from tokenmill.cli import main
from tokenmill.tables import assemble

SENTENCES = "The miller has grain. The farmer brings it. The river turns the wheel. It is late. The mill stands."


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    rows = [
        {"id": f"d{n}", "url": f"https://{'news' if n % 2 else 'blog'}.example/{n}", "n": n,
         "text": f"{SENTENCES}\nNumber {n} has a line of its own: {' '.join(f'w{n}x{k}' for k in range(60))} [1].\nmenu"}
        for n in range(9)
    ]  # fmt: skip
    rows.append({**rows[0], "id": "twin", "url": "https://twin.example/", "text": rows[0]["text"] + "\nOne line more."})
    rows.append({"id": "bad", "url": "https://bad.example/", "text": "\x1b[31mred\x07 \u202eevil"})
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "r.toml").write_text(
        '[input]\npaths = ["a.jsonl"]\n[[stage]]\nuse = "c4"\nmin_num_sentences = -1\nmin_words_per_line = -1\n'
        "filter_no_terminal_punct = false\n[[stage]]\nuse = \"minhash_dedup\"\nthreshold = 0.5\nngram = 3\n"
    )  # fmt: skip
    execute(assemble(load_recipe(folder / "r.toml")), local_folder(folder / "out"), workers=1, executor=run_here)
    return folder


def show(capsys, *arguments):
    code = main(["show", *map(str, arguments)])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def ids(text):
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_documents_of_a_run_come_with_their_columns(capsys, finished):
    first = json.loads(show(capsys, finished / "out", "--limit", 1, "--json"))
    assert (first["id"], first["file"], json.loads(first["extra"])) == ("d0", "a.jsonl", {"n": 0})
    assert "[1]" not in first["text"]
    assert "  file a.jsonl" in show(capsys, finished / "out", "--limit", 1)


def test_documents_of_files_are_shown_as_they_are(capsys, finished):
    assert ids(show(capsys, finished / "a.jsonl", "--limit", 0, "--json")) == [
        *(f"d{n}" for n in range(9)),
        "twin",
        "bad",
    ]
    assert "[1]" in show(capsys, finished / "*.jsonl", "--id", "d3")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["--id", "d3"], ["d3"]),
        (["--url", "news"], ["d1", "d3", "d5", "d7"]),
        (["--text", "number 4"], ["d4"]),
        (["--url", "blog", "--text", "NUMBER 4"], ["d4"]),
    ],
)
def test_documents_are_found_by_id_url_and_text(capsys, finished, asked, found):
    assert ids(show(capsys, finished / "out", "--json", *asked)) == found


def test_documents_at_random_are_the_same_for_the_same_seed(capsys, finished):
    one, again, other = (ids(show(capsys, finished / "out", "--json", "--limit", 4, "--seed", s)) for s in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 4


def test_a_stage_is_shown_by_what_was_before_and_after(capsys, finished):
    row = json.loads(show(capsys, finished / "out", "--stage", "c4", "--id", "d3", "--json"))
    assert "[1]" in row["before"]["text"]
    assert "[1]" not in row["after"]["text"]
    text = show(capsys, finished / "out", "--stage", "c4", "--id", "d3")
    assert text.index("  before") < text.index("  after")


def test_a_duplicate_is_shown_against_the_one_kept_in_its_place(capsys, finished):
    text = show(capsys, finished / "out", "--diff", "--id", "twin")
    assert "--- removed twin https://twin.example/" in text
    assert "+++ kept    d0 https://blog.example/0" in text
    assert "-One line more." in text
    pair = json.loads(show(capsys, finished / "out", "--diff", "--id", "twin", "--json"))
    assert (pair["removed"]["id"], pair["kept"]["id"], pair["ledger"]["rule"]) == ("twin", "d0", "near_duplicate")


def test_no_control_character_of_a_document_reaches_the_terminal(capsys, finished):
    for more in ([], ["--json"]):
        text = show(capsys, finished / "a.jsonl", "--id", "bad", *more)
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert json.loads(text)["text"] == "\x1b[31mred\x07 \u202eevil"


def test_only_the_columns_asked_for_are_shown(capsys, finished):
    assert json.loads(show(capsys, finished / "out", "--limit", 1, "--columns", "url,id", "--json")) == {
        "url": "https://blog.example/0",
        "id": "d0",
    }


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--stage", "c44"], "no stage 'c44'; did you mean c4?"),
        (["--stage", "minhash_dedup"], "sees the corpus as a whole"),
        (["--stage", "c4", "--diff"], "not both"),
        (["--diff", "--id", "d1"], "no duplicate was removed"),
    ],
)
def test_what_cannot_be_shown_is_said(capsys, finished, asked, says):
    assert main(["show", str(finished / "out"), *asked]) == 2
    assert says in capsys.readouterr().err


def test_a_search_in_a_column_that_is_not_published_is_said(capsys, finished):
    recipe = finished / "less.toml"
    recipe.write_text('[input]\npaths = ["a.jsonl"]\n[output]\ncolumns = ["id", "text"]\nformat = "jsonl.zst"\n')
    execute(assemble(load_recipe(recipe)), local_folder(finished / "less"), workers=1, executor=run_here)
    assert main(["show", str(finished / "less"), "--url", "news"]) == 2
    assert "no column 'url'" in capsys.readouterr().err
    assert ids(show(capsys, finished / "less", "--text", "evil", "--json")) == ["bad"]
