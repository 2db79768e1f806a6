"""Containers as crawlers and people leave them: segments, dictionaries, garbage, names that do not fit, and floods."""

import gzip
import io

import pytest
import zstandard
from fastwarc.stream_io import Lz4Writer

from pipeline.readers import InputFile, detect_format
from pipeline.readers.compressed import MOST_EFFORT, Effort, next_member
from tests.pipeline.readers.made import http, page, read, response, warc_record, write_warc


def segments(parts: list[bytes], *, total: int | None = None) -> list[bytes]:
    """Return response 1 in segments; the last says the total length."""
    origin = "<urn:uuid:00000000-0000-0000-0000-000000000001>"
    whole = sum(map(len, parts)) if total is None else total
    last = len(parts)
    return [
        warc_record("response", parts[0], number=1, WARC_Segment_Number=1),
        *(
            warc_record(
                "continuation",
                part,
                number=100 + n,
                WARC_Segment_Origin_ID=origin,
                WARC_Segment_Number=n,
                WARC_Segment_Total_Length=whole if n == last else None,
            )
            for n, part in enumerate(parts[1:], 2)
        ),
    ]


def in_three(body: bytes) -> list[bytes]:
    return [body[:100], body[100:150], body[150:]]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
@pytest.mark.parametrize("split", [1 << 40, 500])
def test_segments_are_one_document_wherever_the_file_is_cut(tmp_path, name, split):
    records = [response(0), *segments(in_three(http(page(1)))), response(2)]
    found = read(write_warc(tmp_path / name, records), split=split)
    assert [row["raw"] for row in found.rows] == [page(0), page(1), page(2)]
    assert not found.faults
    assert found.ignored == {"continuation": 2}


def test_records_that_are_no_documents_may_stand_between_segments(tmp_path):
    first, second, third = segments(in_three(http(page(1))))
    found = read(write_warc(tmp_path / "a.warc", [first, warc_record("request", b"GET"), second, third]))
    assert [row["raw"] for row in found.rows] == [page(1)]


@pytest.mark.parametrize("kept", [(0,), (0, 1), (0, 2), (0, 2, 1)])
def test_a_record_of_which_segments_are_missing_is_a_fault_and_never_taken_for_whole(tmp_path, kept):
    pieces = segments(in_three(http(page(1))))
    found = read(write_warc(tmp_path / "a.warc.gz", [*(pieces[n] for n in kept), response(2)]))
    assert [row["raw"] for row in found.rows] == [page(2)]
    assert [(fault.rule, fault.url) for fault in found.faults] == [("incomplete_record", "http://example.org/1")]


def test_segments_whose_lengths_do_not_add_up_are_a_fault(tmp_path):
    found = read(write_warc(tmp_path / "a.warc", segments(in_three(http(page(1))), total=99_999)))
    assert [fault.rule for fault in found.faults] == ["incomplete_record"]


def test_segments_over_the_limit_are_too_large_together(tmp_path):
    body = http(page(1, 500))
    (fault,) = read(write_warc(tmp_path / "a.warc", segments(in_three(body))), limit=len(body) - 1).faults
    assert (fault.rule, fault.detail) == ("record_too_large", f"{len(body)} bytes in 3 segments")


def test_a_version_line_in_lower_case_and_folded_fields_begin_a_record(tmp_path):
    record = response(1).replace(b"WARC/1.0", b"warc/1.0").replace(b"WARC-Type: ", b"warc-type:\r\n ")
    assert [row["raw"] for row in read(write_warc(tmp_path / "a.warc", [record, response(2)])).rows] == [
        page(1),
        page(2),
    ]


def test_a_conversion_among_pages_costs_no_page(tmp_path):
    text = warc_record("conversion", b"A text.", number=5, Content_Type="text/plain")
    found = read(write_warc(tmp_path / "a.warc", [text, response(1), text, response(2)]))
    assert [(row["raw"], row["text"]) for row in found.rows] == [
        (None, "A text."),
        (page(1), None),
        (None, "A text."),
        (page(2), None),
    ]


def test_a_partial_answer_is_no_page(tmp_path):
    record = warc_record("response", http(page(1)[50:], status="206 Partial Content"))
    assert read(write_warc(tmp_path / "a.warc", [record])).ignored == {"status 206": 1}


@pytest.mark.parametrize("name", ["a.warc", "a.warc.zst", "a.jsonl", "a"])
def test_a_gzip_warc_is_read_under_any_name_and_a_plain_one_under_gz(tmp_path, name):
    packed, plain = tmp_path / name, tmp_path / "b.warc.gz"
    packed.write_bytes(b"".join(gzip.compress(response(n)) for n in range(2)))
    plain.write_bytes(response(0) + response(1))
    assert [row["raw"] for row in read(packed).rows] == [row["raw"] for row in read(plain).rows] == [page(0), page(1)]


def lz4(data: bytes) -> bytes:
    sink = io.BytesIO()
    writer = Lz4Writer(sink)
    writer.write(data)
    writer.close()
    return sink.getvalue()


PACKED = pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress), ("lz4", lz4)])


@PACKED
def test_records_behind_garbage_are_read(tmp_path, ending, pack):
    path = tmp_path / f"a.warc.{ending}"
    path.write_bytes(pack(response(1)) + bytes(range(1, 200)) + pack(response(2)))
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1), page(2)]
    assert [fault.rule for fault in found.faults] == ["damaged_region"]


@PACKED
def test_a_damaged_member_costs_its_record_alone(tmp_path, ending, pack):
    middle = bytearray(pack(response(2, 2000)))
    middle[len(middle) // 2 : len(middle) // 2 + 50] = b"\xff" * 50
    path = tmp_path / f"a.warc.{ending}"
    path.write_bytes(pack(response(1)) + middle + pack(response(3)))
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1), page(3)]
    (fault,) = found.faults
    assert fault.rule == ("damaged_record" if ending == "gz" else "damaged_region")  # one block, none of it readable


@PACKED
def test_a_file_cut_inside_a_member_says_so(tmp_path, ending, pack):
    path = tmp_path / f"a.warc.{ending}"
    path.write_bytes(pack(response(1)) + pack(response(2, 3000))[:-40])
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1)]
    assert [fault.rule for fault in found.faults] == ["cut_file"]


@pytest.mark.parametrize("packed", [False, True])
def test_zstd_with_a_dictionary_of_the_file_is_read(tmp_path, packed):
    dictionary = zstandard.train_dictionary(2000, [response(n, 50) for n in range(300)])
    data = zstandard.compress(dictionary.as_bytes()) if packed else dictionary.as_bytes()
    packer = zstandard.ZstdCompressor(dict_data=dictionary)
    path = tmp_path / "a.warc.zst"
    frames = [packer.compress(response(n, 50)) for n in range(3)]
    path.write_bytes(b"\x5d\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data + b"".join(frames))
    assert [row["raw"] for row in read(path).rows] == [page(n, 50) for n in range(3)]
    path.write_bytes(path.read_bytes().replace(frames[1], b"garbage"))
    assert [row["raw"] for row in read(path).rows] == [page(0, 50), page(2, 50)]


def test_a_skippable_frame_that_claims_more_than_there_is_is_a_cut(tmp_path):
    path = tmp_path / "a.warc.zst"
    path.write_bytes(
        zstandard.compress(response(1)) + b"\x50\x2a\x4d\x18\xff\xff\xff\xff" + zstandard.compress(response(2))
    )
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1), page(2)]
    assert [fault.rule for fault in found.faults] == ["cut_file"]


def test_blank_lines_between_records_are_no_damage(tmp_path):
    found = read(write_warc(tmp_path / "a.warc.gz", [response(1), b"\r\n" * 500_000, response(2)]))
    assert [row["raw"] for row in found.rows] == [page(1), page(2)]
    assert not found.faults


FLOODS = {
    "gzip marks": b"\x1f\x8b\x08",
    "gzip marks with names": b"\x1f\x8b\x08\x08aaa",
    "gzip members that are empty": gzip.compress(b"", mtime=0),
    "members that begin like records": gzip.compress(b"WARC/1.0\r\n", mtime=0),
    "members without line breaks that begin like records": gzip.compress(b"WARC/1.0", mtime=0),
    "stored blocks inside one another": b"\x1f\x8b\x08" + bytes(7) + b"\x00\xff\xff\x00\x00WARC/1.0\r\n",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_marks_ends_with_a_line_and_costs_no_record_before_it(tmp_path, flood):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(response(1)) + FLOODS[flood] * (200 if flood.startswith("stored") else 2_000))
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1)]
    assert all(fault.detail for fault in found.faults)
    assert found.faults or flood == "gzip members that are empty"


def test_a_search_ends_where_its_effort_is_spent():
    file = io.BytesIO(b"\x1f\x8b\x08\xff" * 10_000 + gzip.compress(b"abc"))
    assert next_member(file, "gz", 0, lambda data: data == b"abc", 3, Effort()) == 40_000
    effort = Effort(1 << 20)
    assert next_member(file, "gz", 0, lambda data: data == b"abc", 3, effort) is None
    assert effort.left <= 0
    effort.earn(1 << 30)
    assert effort.left == MOST_EFFORT


def test_where_too_much_looks_like_a_record_the_rest_is_said_not_to_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.readers.records.Effort", lambda: Effort(1 << 24))
    path = tmp_path / "a.warc"
    path.write_bytes(response(1) + b"WARC/1.0\r\n" * 10_000 + response(2))
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1)]
    assert len(found.faults) < 300
    assert "not read" in found.faults[-1].detail


def arc_line(middle: str) -> bytes:
    return f"http://example.org/{middle}".encode()


@pytest.mark.parametrize(
    "line",
    [
        b"a:" + b" 12345678901234" * 60_000,
        b"http://a" + b" " * 900_000,
        b"http://a " + b"1.1.1.1 " * 100_000 + b"20240506070809",
    ],
)
def test_an_arc_line_of_any_shape_is_read_once(tmp_path, line):
    body = http(page(1))
    good = b"http://example.org/1 1.2.3.4 20240506070809 text/html %d\n" % len(body) + body + b"\n"
    path = tmp_path / "a.arc"
    path.write_bytes(good + line + b"\n" + good)
    found = read(path)
    assert [row["raw"] for row in found.rows] == [page(1), page(1)]
    assert found.faults


def test_a_url_with_blanks_and_digits_in_an_arc_line_is_kept(tmp_path):
    body = http(page(1))
    path = tmp_path / "a.arc"
    path.write_bytes(
        b"http://example.org/a 20010101000000 b 1.2.3.4 20240506070809 text/html %d\n" % len(body) + body + b"\n"
    )
    (row,) = read(path).rows
    assert (row["url"], row["date"]) == ("http://example.org/a 20010101000000 b", "2024-05-06T07:08:09Z")
    assert detect_format(InputFile(str(path), "a")) == "arc"
