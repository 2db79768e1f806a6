import gzip
import io
import zlib

import pytest
import zstandard

from pipeline.readers.compressed import compression_of, find_magic, first_bytes, open_feed

DATA = bytes(range(256)) * 5000


def all_of(feed) -> bytes:
    parts = []
    while piece := feed.read():
        parts.append(piece)
    return b"".join(parts)


@pytest.mark.parametrize(("kind", "pack"), [("", bytes), ("gz", gzip.compress), ("zst", zstandard.compress)])
def test_a_feed_gives_what_was_packed(kind, pack):
    packed = pack(DATA)
    assert compression_of(packed[:8]) == kind
    feed = open_feed(io.BytesIO(packed), kind)
    assert all_of(feed) == DATA
    assert (feed.damage, feed.position) == (None, len(DATA))


@pytest.mark.parametrize(("kind", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_members_are_told_with_their_places(kind, pack):
    first, second = pack(b"a" * 1000), pack(b"b" * 1000)
    feed = open_feed(io.BytesIO(first + second), kind)
    all_of(feed)
    assert list(feed.starts) == [(0, 0), (1000, len(first))]


@pytest.mark.parametrize(("kind", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_an_end_inside_a_member_is_told(kind, pack):
    feed = open_feed(io.BytesIO(pack(DATA)[:-5]), kind)
    assert DATA.startswith(all_of(feed))
    assert feed.damage
    assert feed.cut


def test_what_stands_before_damage_is_given_whatever_pieces_it_came_in():
    packed = bytearray(gzip.compress(DATA, mtime=0))
    packed[len(packed) // 2] ^= 0xFF
    expected = b""
    inflater = zlib.decompressobj(31)
    for at in range(len(packed)):
        try:
            expected += inflater.decompress(packed[at : at + 1])
        except zlib.error:
            break
    for lead in (b"", gzip.compress(b"x" * 50, mtime=0), gzip.compress(DATA[:99_999], mtime=0)):
        feed = open_feed(io.BytesIO(lead + packed), "gz")
        given = all_of(feed)
        assert given[len(given) - len(expected) :] == expected
        assert (feed.damaged_at, feed.cut) == (len(lead), False)


@pytest.mark.parametrize(("kind", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_a_bomb_comes_in_pieces(kind, pack):
    feed = open_feed(io.BytesIO(pack(bytes(100_000_000))), kind)
    largest = 0
    while piece := feed.read():
        largest = max(largest, len(piece))
    assert feed.position == 100_000_000
    assert largest <= 34 << 20


def test_magic_is_found_across_the_blocks_that_are_read():
    at = (1 << 20) - 1
    data = bytes(at) + b"\x1f\x8b\x08" + bytes(10) + b"\x1f\x8b\x08"
    assert list(find_magic(io.BytesIO(data), b"\x1f\x8b\x08", 0)) == [at, at + 13]
    assert list(find_magic(io.BytesIO(data), b"\x1f\x8b\x08", 0, at)) == []
    assert list(find_magic(io.BytesIO(data), b"\x1f\x8b\x08", 1 << 20)) == [at + 13]


def test_the_first_bytes_are_what_there_is_of_them():
    assert first_bytes(io.BytesIO(gzip.compress(b"abc")), "gz", 10) == b"abc"
    assert first_bytes(io.BytesIO(gzip.compress(b"abc")), "gz", 2) == b"ab"
