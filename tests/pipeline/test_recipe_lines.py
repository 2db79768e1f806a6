"""Where in a recipe a fault lies."""

import codecs

import pytest

from pipeline.errors import RecipeError
from pipeline.recipe import load_recipe
from pipeline.recipe_lines import line_of, lines_of

TEXT = '''name = "x"
[input]
paths = [
    "a.jsonl",
]
[[stage]]  # first
use = "language"

[[stage]]
use = "mix"
about = """
[[stage]]
seed = 1
"""
seed = 2
[stage.weights]
web = 1
[plan]
"gpu" = "x"
'''


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("name", 1),
        ("input", 2),
        ("input.paths[0]", 3),
        ("stages[0]", 6),
        ("stages[0].use", 7),
        ("stages[0].min_score", 6),
        ("stages[1].seed", 15),
        ("stages[1].weights", 16),
        ("plan.gpu", 19),
        ("plan.gpus", 18),
        ("limits.x", None),
    ],
)
def test_a_place_has_its_line_or_that_of_the_table_it_lies_in(place, line):
    assert line_of(place, lines_of(TEXT)) == line


def fault(tmp_path, text, *overrides):
    (tmp_path / "news.toml").write_text(text)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(RecipeError) as caught:
        load_recipe(tmp_path / "news.toml", overrides)
    return str(caught.value)


def test_a_fault_names_file_line_number_and_name_of_the_stage(tmp_path):
    text = '[input]\npaths = ["a.jsonl"]\n[[stage]]\nuse = "c4"\n[[stage]]\nuse = "language"\nmin_score = 2\n'
    assert fault(tmp_path, text).startswith("news.toml, line 7, stage 2 (language): stages[1].min_score: ")


def test_a_fault_of_the_command_line_names_no_line_of_the_file(tmp_path):
    text = '[input]\npaths = ["a.jsonl"]\n[[stage]]\nuse = "language"\nmin_score = 0.5\n'
    said = fault(tmp_path, text, "language.min_score=2")
    assert said.startswith("news.toml with --set, stage 1 (language): stages[0].min_score: ")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_a_recipe_saved_with_a_mark_is_read(tmp_path, mark, encoding):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "r.toml").write_bytes(mark + '[input]\npaths = ["a.jsonl"]\nsource = "é"\n'.encode(encoding))
    assert load_recipe(tmp_path / "r.toml").inputs[0].source == "é"
