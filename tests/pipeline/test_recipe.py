"""The recipe: what it finds, and how it says what is wrong."""

import json

import pytest

from pipeline.errors import RecipeError
from pipeline.recipe import load_recipe, stage_labels


@pytest.fixture
def write(tmp_path):
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "b"}) + "\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "a"}) + "\n")

    def make(text, paths='paths = ["*.jsonl"]'):
        path = tmp_path / "recipe.toml"
        path.write_text(f'name = "t"\n{text}\n[input]\n{paths}\n' if "[input]" not in text else text)
        return path

    return make


def fault(path, *overrides):
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, overrides)
    return caught.value.place, caught.value.problem


def test_globs_are_sorted_and_relative_to_the_recipe(write):
    recipe = load_recipe(write(""))
    assert [f.name for f in recipe.inputs] == ["a.jsonl", "b.jsonl"]


def test_a_file_that_is_matched_twice_is_read_once_and_that_is_said(write):
    recipe = load_recipe(write("", 'paths = ["a.jsonl", "*.jsonl"]'))
    assert [f.name for f in recipe.inputs] == ["a.jsonl", "b.jsonl"]
    assert recipe.notes == ("input.paths[1]: a.jsonl matched by an earlier path too; each is read once",)


def test_each_path_may_have_its_own_source_and_columns(write):
    recipe = load_recipe(
        write(
            "", 'source = "web"\npaths = ["a.jsonl", {path = "b.jsonl", source = "books", columns = {text = "body"}}]'
        )
    )
    assert [(f.source, f.columns) for f in recipe.inputs] == [("web", ()), ("books", (("text", "body"),))]


def test_a_glob_that_matches_nothing_is_named(write):
    place, problem = fault(write("", 'paths = ["*.jsonl", "missing/*.warc.gz"]'))
    assert place == "input.paths[1]"
    assert "missing/*.warc.gz" in problem


def test_an_unknown_key_is_named_with_the_nearest_known_one(write):
    place, problem = fault(write("", 'pahts = ["*.jsonl"]'))
    assert (place, "did you mean paths?" in problem) == ("input.pahts", True)


def test_an_unknown_table_is_named(write):
    assert fault(write("[tokeniser]\nvocab_sizes = [1024]"))[0] == "tokeniser"


def test_an_unknown_stage_is_named_with_the_nearest_known_one(write):
    place, problem = fault(write('[[stage]]\nuse = "gopher_qualty"'))
    assert place == "stages[0].use"
    assert "did you mean gopher_quality?" in problem


def test_an_unknown_parameter_is_named_with_its_stage_and_the_nearest(write):
    place, problem = fault(write('[[stage]]\nuse = "c4"\n[[stage]]\nuse = "language"\nmin_scor = 0.5'))
    assert place == "stages[1].min_scor"
    assert "did you mean min_score?" in problem


def test_a_parameter_of_a_wrong_type_is_named_with_what_was_given(write):
    place, problem = fault(write('[[stage]]\nuse = "language"\nmin_score = "high"'))
    assert place == "stages[0].min_score"
    assert "'high'" in problem


def test_a_recipe_that_is_no_toml_is_said_so(write):
    assert "is not TOML" in fault(write("= = ="))[1]


def test_a_missing_recipe_is_said_so(tmp_path):
    assert "cannot be read" in fault(tmp_path / "none.toml")[1]


def test_set_changes_a_parameter_of_a_stage_and_of_a_table(write):
    path = write('[[stage]]\nuse = "language"\n[[stage]]\nuse = "language"')
    recipe = load_recipe(path, ["language.min_score=0.4", "language#2.min_score=0.3", "limits.cpu_seconds=5"])
    assert [s.min_score for s in recipe.stages] == [0.4, 0.3]
    assert recipe.limits.cpu_seconds == 5.0


def test_set_of_a_stage_that_the_recipe_does_not_have_is_named(write):
    place, problem = fault(write('[[stage]]\nuse = "language"'), "langage.min_score=1")
    assert place == "--set langage.min_score=1"
    assert "did you mean language?" in problem


def test_the_second_stage_of_a_name_is_told_apart():
    assert stage_labels(["c4", "mix", "c4", "c4"]) == ["c4", "mix", "c4#2", "c4#3"]
