"""A few hundred damaged files of fixed numbers; many more by hand: ``python -m tests.fuzz.run``."""

import pytest

from pipeline.readers import InputFile
from tests.fuzz.run import fuzz
from tests.fuzz.targets import SOUND, damaged_file, read_whole


@pytest.mark.parametrize("name", sorted(SOUND))
def test_the_sound_files_are_read(tmp_path, name):
    for number, data in enumerate(SOUND[name]):
        path = tmp_path / f"{number}-{name}"
        path.write_bytes(data)
        assert read_whole(InputFile(str(path), name)) == "read"


def test_the_same_number_is_the_same_file():
    assert damaged_file("a.warc", 7) == damaged_file("a.warc", 7) != damaged_file("a.warc", 8)


def test_damaged_files_of_every_format_are_read_or_refused_by_name():
    assert fuzz(sorted(SOUND), 0, 450, 60.0, 2) == []
