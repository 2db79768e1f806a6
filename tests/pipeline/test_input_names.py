"""Inputs are called by their last parts, not by where they lie, and never two by one name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.input_names import without_places
from pipeline.readers import InputFile
from pipeline.recipe import build_recipe


def named(*paths):
    return [file.name for file in without_places([InputFile(path, path) for path in paths])]


def test_an_absolute_path_is_shortened_to_folder_and_file_and_others_stay():
    assert named("/home/me/crawl/a.jsonl", "b.jsonl", "s3://bucket/a/c.jsonl") == [
        "crawl/a.jsonl",
        "b.jsonl",
        "s3://bucket/a/c.jsonl",
    ]


def test_two_of_one_name_get_as_many_folders_as_tell_them_apart():
    assert named("/x/one/crawl/a.jsonl", "/x/two/crawl/a.jsonl", "/x/two/crawl/b.jsonl") == [
        "one/crawl/a.jsonl",
        "two/crawl/a.jsonl",
        "crawl/b.jsonl",
    ]


@given(
    st.lists(st.text("ab/", min_size=1, max_size=9).map(lambda path: f"/{path.strip('/')}"), max_size=8, unique=True)
)
def test_names_are_as_different_as_paths(paths):
    files = [InputFile(path, path) for path in [*paths, "a", "a/b"]]
    assert len({file.name for file in without_places(files)}) == len(files)
    assert [file.path for file in without_places(files)] == [file.path for file in files]


def test_a_recipe_shows_absolute_paths_when_it_asks_for_them(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text('{"text": "x"}\n')
    table = {"input": {"paths": [str(tmp_path / "in/a.jsonl")]}}
    place = tmp_path / "recipes"
    assert build_recipe(table, place).inputs[0].name == "in/a.jsonl"
    asked = build_recipe({**table, "output": {"absolute_paths": True}}, place)
    assert asked.inputs[0].name == str(tmp_path / "in/a.jsonl")
