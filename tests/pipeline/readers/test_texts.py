"""Text files with a document a line, or a paragraph."""

import bz2
import codecs
import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers import InputFile, plan_splits
from tests.pipeline.readers.made import read

LINES = "one\ntwo, äöü\n\n  \nthree\r\nfour\n\n\nfive"


def texts(found) -> list[str]:
    return [row["text"] for row in found.rows]


def reference(data: str, documents: str) -> list[str]:
    """The documents of `data` by regular expressions."""
    cut = r"\n" if documents == "line" else r"\n(?:[ \t\r]*\n)+"
    return [
        t
        for t in (d.strip("\n") for d in re.split(cut, f"\n{data}\n\n" if documents == "paragraph" else data))
        if t.strip()
    ]


def test_each_line_that_is_not_blank_is_a_document(tmp_path):
    (tmp_path / "a.txt").write_bytes(LINES.encode())
    found = read(tmp_path / "a.txt", documents="line", source="notes")
    assert texts(found) == ["one", "two, äöü", "three", "four", "five"]
    assert [row["id"] for row in found.rows][:2] == ["a.txt#0", "a.txt#4"]
    assert {(row["source"], row["file"]) for row in found.rows} == {("notes", "a.txt")}
    data = (tmp_path / "a.txt").read_bytes()
    assert all(data[row["offset"] :].startswith(row["text"].encode()) for row in found.rows)


def test_blank_lines_separate_paragraphs(tmp_path):
    (tmp_path / "a.txt").write_bytes(LINES.encode())
    assert texts(read(tmp_path / "a.txt", documents="paragraph")) == ["one\ntwo, äöü", "three\nfour", "five"]


def test_by_default_a_file_is_one_document(tmp_path):
    (tmp_path / "a.txt").write_bytes(LINES.encode())
    assert texts(read(tmp_path / "a.txt")) == [LINES.replace("\r\n", "\n")]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["a", "bc", "", " ", "\t", "äö", "\r", "x" * 40]), max_size=30),
    st.integers(1, 60),
    st.sampled_from(["line", "paragraph"]),
)
def test_any_split_gives_the_documents_of_one_split(tmp_path_factory, lines, split, documents):
    path = tmp_path_factory.mktemp("texts") / "a.txt"
    data = "\n".join(lines)
    path.write_bytes(data.encode())
    found = read(path, documents=documents, split=split)
    assert found.facts() == read(path, documents=documents).facts()
    assert [t.replace("\r", "") for t in texts(found)] == [t.replace("\r", "") for t in reference(data, documents)]


@pytest.mark.parametrize("documents", ["line", "paragraph"])
def test_long_documents_and_long_gaps_cross_splits(tmp_path, documents):
    data = "".join(f"{'w' * n} end\n{' ' * 40}\n" for n in range(0, 400, 7))
    (tmp_path / "a.txt").write_bytes(data.encode())
    assert len(plan_splits(InputFile(str(tmp_path / "a.txt"), "a.txt", documents=documents), 50)) > 100
    found = read(tmp_path / "a.txt", documents=documents, split=50)
    assert texts(found) == reference(data, documents)


@pytest.mark.parametrize("documents", ["line", "paragraph"])
def test_a_document_over_the_limit_is_a_fault_in_any_split(tmp_path, documents):
    data = "first\n\n" + "x" * 120 + "\n\nlast\n\n" + "y\n" * 90 + "\nend\n"
    (tmp_path / "a.txt").write_bytes(data.encode())
    for split in (1, 7, 64, 1000):
        found = read(tmp_path / "a.txt", documents=documents, split=split, limit=100)
        rest = ["y"] * 90 if documents == "line" else []
        assert texts(found) == ["first", "last", *rest, "end"]
        assert [f.rule for f in found.faults] == ["record_too_large"] * (1 if documents == "line" else 2)


def test_a_paragraph_without_end_is_read_no_further_than_needed(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"word\n" * 200_000)
    found = read(tmp_path / "a.txt", documents="paragraph", split=100_000, limit=1000)
    assert [f.rule for f in found.faults] == ["record_too_large"]
    assert found.rows == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("documents", ["line", "paragraph"])
def test_packed_files_are_read_alike(tmp_path, documents, pack):
    (tmp_path / "a.txt").write_bytes(LINES.encode())
    (tmp_path / "b.txt.gz").write_bytes(pack(LINES.encode()))
    assert texts(read(tmp_path / "b.txt.gz", documents=documents)) == texts(
        read(tmp_path / "a.txt", documents=documents)
    )


@pytest.mark.parametrize("documents", ["line", "paragraph"])
def test_what_a_cut_file_ends_with_is_no_document(tmp_path, documents):
    whole = gzip.compress("".join(f"document {n * 7919 % 9973}\n\n" for n in range(400)).encode(), 1)
    (tmp_path / "a.txt.gz").write_bytes(whole[: len(whole) * 2 // 3])
    found = read(tmp_path / "a.txt.gz", documents=documents)
    assert [f.rule for f in found.faults] == ["cut_file"]
    assert len(found.rows) > 100
    assert texts(found) == [f"document {n * 7919 % 9973}" for n in range(len(found.rows))]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1251", "shift_jis"])
def test_encodings_are_seen_as_they_are_for_whole_files(tmp_path, encoding):
    lines = (
        ["灯台の話をします。", "とても長い話です。"]
        if encoding == "shift_jis"
        else ["Пожалуйста, вот строка", "и ещё одна строка"]
    )
    (tmp_path / "a.txt").write_bytes("\r\n".join(lines * 20).encode(encoding))
    assert texts(read(tmp_path / "a.txt", documents="line")) == lines * 20


def test_marks_inside_joined_files_are_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(codecs.BOM_UTF8 + b"one\n" + codecs.BOM_UTF8 + b"two\n" + codecs.BOM_UTF8)
    assert texts(read(tmp_path / "a.txt", documents="line")) == ["one", "two"]


def test_a_document_that_killed_a_worker_is_passed_over(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\nthree\n")
    found = read(tmp_path / "a.txt", documents="line", skip={1: ("killed", "by a test")})
    assert (texts(found), [f.rule for f in found.faults]) == (["one", "three"], ["killed"])
