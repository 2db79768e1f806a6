"""An index kept on disk: mapped by who comes later, built anew where anything about it is not as it was."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from stages.decontamination.evaluation_sets import Item
from stages.decontamination.index_file import KEPT, cache_folder, index_for
from stages.decontamination.ngram_index import NgramIndex, build_index

TEXT = "which of the two mills by the lake ground the finest flour in the year of the long frost"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "decontamination"


class Builder:
    """Builds an index and counts how often."""

    def __init__(self):
        self.built = 0

    def __call__(self) -> NgramIndex:
        self.built += 1
        items = [Item("0", (("question", TEXT),)), Item("1", (("question", "too short"),))]
        return build_index([("mills", items)], 13, 8, 10)


def same(a: NgramIndex, b: NgramIndex) -> bool:
    return all(
        np.array_equal(one, vars(b)[name]) if isinstance(one, np.ndarray) else one == vars(b)[name]
        for name, one in vars(a).items()
    )


def test_an_index_is_built_once_and_comes_back_as_it_was(cache):
    build = Builder()
    first, second = index_for({"a": 1}, build), index_for({"a": 1}, build)
    assert build.built == 1
    assert same(first, second)
    assert same(second, Builder()())
    assert not any(value.flags.writeable for value in vars(second).values() if isinstance(value, np.ndarray))


def test_another_identity_is_another_index(cache):
    build = Builder()
    index_for({"a": 1}, build)
    index_for({"a": 2}, build)
    assert build.built == 2


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1] + b"\1", lambda data: data[: len(data) // 2], lambda data: b""]
)
def test_a_damaged_file_is_built_anew(cache, damage):
    build = Builder()
    index_for({"a": 1}, build)
    (file,) = cache.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert same(index_for({"a": 1}, build), build())
    index_for({"a": 1}, build)
    assert build.built == 3


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "file"))
    build = Builder()
    assert same(index_for({"a": 1}, build), build())


def test_the_oldest_indexes_go(cache):
    for number in range(KEPT + 3):
        index_for({"a": number}, Builder())
    assert len(list(cache.iterdir())) == KEPT


def test_the_folder_follows_the_environment(monkeypatch):
    monkeypatch.delenv("TOKENMILL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == pathlib.Path("/somewhere/tokenmill/decontamination")
