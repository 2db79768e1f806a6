"""Which files a path means."""

import os
import pathlib

import pytest

from pipeline.paths import PathFault, find_files, leads_into, shown


@pytest.fixture
def place(tmp_path):
    def make(*names):
        for name in names:
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
        return tmp_path

    return make


def found(folder, path, **more):
    return [os.path.relpath(file, folder) for file in find_files(path, folder, **more).files]


@pytest.mark.parametrize(
    "name",
    ["crawl[2024].jsonl", "what?.jsonl", "a*b.jsonl", "{a,b}.jsonl", "$x.jsonl", "~x.jsonl", "@x.jsonl", " a .jsonl"],
)
def test_a_file_that_is_there_is_meant_by_its_name(place, name):
    folder = place(name, "crawl2.jsonl", "whatx.jsonl", "axb.jsonl", "a.jsonl")
    assert found(folder, name) == [name]


def test_the_folder_of_a_recipe_is_no_pattern(place):
    folder = place("data[1]/a.jsonl", "data1/b.jsonl")
    assert found(folder / "data[1]", "*.jsonl") == ["a.jsonl"]


@pytest.mark.parametrize("pattern", ["data[1]/*.jsonl", "*/crawl[2].jsonl"])
def test_a_part_of_a_pattern_that_is_there_is_meant_by_its_name(place, pattern):
    folder = place("data[1]/crawl[2].jsonl", "data1/crawl2.jsonl")
    assert "data[1]/crawl[2].jsonl" in found(folder, pattern)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.jsonl", ["a.jsonl", "b.jsonl"]),
        ("[ab].jsonl", ["a.jsonl", "b.jsonl"]),
        ("?.jsonl", ["a.jsonl", "b.jsonl"]),
        ("{b,a}.jsonl", ["b.jsonl", "a.jsonl"]),
        ("{a,x/c}.{jsonl,txt}", ["a.jsonl", "x/c.txt"]),
        ("**/*.jsonl", ["a.jsonl", "b.jsonl", "x/y/d.jsonl"]),
        ("x/../a.jsonl", ["a.jsonl"]),
        ("x/**", ["x/c.txt", "x/y/d.jsonl"]),
    ],
)
def test_patterns_mean_what_a_shell_makes_of_them(place, pattern, names):
    folder = place("a.jsonl", "b.jsonl", "x/c.txt", "x/y/d.jsonl", ".hidden/e.jsonl", ".f.jsonl")
    assert [os.path.normpath(name) for name in found(folder, pattern)] == names


def test_home_and_variables_are_filled_in(place, monkeypatch):
    folder = place("home/a.jsonl", "data/b.jsonl")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("DATA", str(folder / "data"))
    assert found(folder, "~/*.jsonl") == ["home/a.jsonl"]
    assert found(folder, "$DATA/b.jsonl") == found(folder, "${DATA}/*.jsonl") == ["data/b.jsonl"]


def test_a_folder_means_the_files_of_known_kinds_below_it(place):
    folder = place("in/a.jsonl", "in/x/b.jsonl", "in/notes.md", "in/_SUCCESS", "in/.git/c.jsonl")
    result = find_files("in", folder, lambda name: name.endswith(".jsonl"))
    assert [os.path.relpath(f, folder) for f in result.files] == ["in/a.jsonl", "in/x/b.jsonl"]
    assert result.notes == ["in: 1 files of other kinds are left out: notes.md"]


def test_a_list_names_files_relative_to_itself(place):
    folder = place("lists/all.txt", "lists/a.jsonl", "b.jsonl")
    (folder / "lists/all.txt").write_text("\ufeff# mine\n\na.jsonl\r\n../b.jsonl\n")
    assert sorted(map(os.path.normpath, found(folder, "@lists/all.txt"))) == ["b.jsonl", "lists/a.jsonl"]


def test_a_loop_of_links_ends_and_a_file_is_found_once(place):
    folder = place("in/a.jsonl")
    (folder / "in/again").symlink_to(folder / "in")
    (folder / "in/b.jsonl").symlink_to("a.jsonl")
    result = find_files("in/**/*.jsonl", folder)
    assert [os.path.relpath(f, folder) for f in result.files] == ["in/a.jsonl"]
    assert result.notes == ["in/**/*.jsonl: 1 more of its paths lead to a file that is read already; each is read once"]


def test_a_name_of_any_bytes_is_found_and_can_be_shown(place):
    folder = place("a.jsonl")
    pathlib.Path(os.fsdecode(os.fsencode(folder) + b"/b\xff.jsonl")).write_text("b")
    files = find_files("*.jsonl", folder).files
    assert [shown(os.path.basename(f)) for f in files] == ["a.jsonl", "b\\xff.jsonl"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("none.jsonl", "nothing matches 'none.jsonl'"),
        ("no/such/*.jsonl", "there is no folder 'no'"),
        ("$NO_SUCH_VARIABLE/a", "no variable NO_SUCH_VARIABLE"),
        ("@none.txt", "the list none.txt cannot be read"),
        ("@list.txt", "list.txt, line 2: nothing matches 'x.jsonl'"),
        ("@empty.txt", "names no file"),
        ("empty", "holds no file"),
        ("pipe", "is no file (a pipe"),
        ("link", "is a link to nothing"),
        ("", "is no path"),
        ("a\0b", "is no path"),
    ],
)
def test_a_path_that_means_nothing_is_said_with_the_reason(place, path, says):
    folder = place("a.jsonl", "list.txt", "empty.txt")
    (folder / "list.txt").write_text("a.jsonl\nx.jsonl\n")
    (folder / "empty.txt").write_text("# none\n")
    (folder / "empty").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("nowhere")
    with pytest.raises(PathFault) as fault:
        find_files(path, folder)
    assert says in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("**/*.parquet", True),
        ("runs", True),
        (".", True),
        ("runs/*/data/*.parquet", True),
        ("*.parquet", False),
        ("a.jsonl", False),
        ("crawl/**/*.parquet", False),
        ("**/*.warc.gz", False),
    ],
)
def test_a_run_folder_among_the_inputs_is_noticed(place, path, inside):
    folder = place(
        "a.jsonl", "runs/old.parquet", "crawl/x/b.parquet", "c.parquet", "c.warc.gz", "runs/x/data/p.parquet"
    )
    assert leads_into(find_files(path, folder).patterns, folder / "runs/mine") is inside


def test_a_choice_that_nothing_matches_is_said_where_another_is_found(place):
    folder = place("en.jsonl")
    found = find_files("{en,de,fr}.jsonl", folder)
    assert [os.path.basename(file) for file in found.files] == ["en.jsonl"]
    assert found.notes == ["{en,de,fr}.jsonl: nothing matches de.jsonl and 1 more"]
