import gzip

import pytest
from fastwarc.stream_io import Lz4Writer

from pipeline.guard import Board, guard
from pipeline.readers.warc import WarcReader
from tests.pipeline.readers.made import http, page, read, response, warc_record, write_warc


def test_a_page_keeps_its_bytes_and_what_the_header_says_of_it(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(7, WARC_Truncated="length")])
    (row,) = read(path, source="web").rows
    assert row["raw"] == page(7)
    assert row["id"] == "00000000-0000-0000-0000-000000000007"
    assert row["url"] == "http://example.org/7"
    assert (row["content_type"], row["truncated"], row["date"]) == ("text/html", "length", "2024-05-06T07:08:09Z")
    assert (row["file"], row["offset"], row["source"], row["text"]) == ("a.warc.gz", 0, "web", None)


def test_the_source_is_default_unless_the_recipe_names_one(tmp_path):
    (row,) = read(write_warc(tmp_path / "a.warc", [response(1)])).rows
    assert row["source"] == "default"


def test_the_offset_is_where_the_record_or_its_member_starts(tmp_path):
    records = [response(n) for n in range(3)]
    plain = read(write_warc(tmp_path / "a.warc", records)).rows
    assert [row["offset"] for row in plain] == [0, len(records[0]), len(records[0]) + len(records[1])]
    sizes = [len(gzip.compress(r, mtime=0)) for r in records]
    packed = read(write_warc(tmp_path / "a.warc.gz", records)).rows
    assert [row["offset"] for row in packed] == [0, sizes[0], sizes[0] + sizes[1]]


def test_a_missing_record_id_becomes_file_name_and_offset(tmp_path):
    records = [response(1), response(2, WARC_Record_ID=None)]
    plain = read(write_warc(tmp_path / "a.warc", records))
    assert plain.rows[1]["id"] == f"a.warc#{len(records[0])}"
    whole = read(write_warc(tmp_path / "a.warc.gz", records, member=False))
    assert whole.rows[1]["id"] == f"a.warc.gz#0+{len(records[0])}"


def test_records_that_are_no_pages_are_counted_by_their_reason(tmp_path):
    records = [
        warc_record("warcinfo", b"software: x\r\n"),
        warc_record("request", b"GET / HTTP/1.1\r\n\r\n"),
        warc_record("revisit", b""),
        warc_record("metadata", b"a: b"),
        warc_record("response", http(b"gone", status="404 Not Found")),
        warc_record("response", http(b"\x89PNG\r\n\x1a\n....", content_type="text/html")),
        warc_record("response", http(b"body {}", content_type="text/css")),
        response(1),
    ]
    found = read(write_warc(tmp_path / "a.warc.gz", records))
    assert len(found.rows) == 1
    assert not found.faults
    assert found.ignored == {
        "warcinfo": 1,
        "request": 1,
        "revisit": 1,
        "metadata": 1,
        "status 404": 1,
        "not a page: image/png": 1,
        "not a page: text/css": 1,
    }


def test_a_resource_that_is_a_page_counts(tmp_path):
    records = [warc_record("resource", page(3), Content_Type="text/html; charset=utf-8")]
    (row,) = read(write_warc(tmp_path / "a.warc", records)).rows
    assert (row["raw"], row["content_type"]) == (page(3), "text/html; charset=utf-8")


def test_a_wet_file_gives_texts(tmp_path):
    records = [
        warc_record("warcinfo", b"x: y\r\n"),
        warc_record("conversion", "Grüße\n世界".encode(), number=5, Content_Type="text/plain"),
    ]
    (row,) = read(write_warc(tmp_path / "a.warc.wet.gz", records)).rows
    assert (row["text"], row["raw"], row["url"]) == ("Grüße\n世界", None, "http://example.org/5")


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
@pytest.mark.parametrize("eol", ["\r\n", "\n"])
def test_all_versions_and_line_endings_are_read(tmp_path, version, eol):
    records = [warc_record("response", http(page(n)), number=n, version=version, eol=eol) for n in range(3)]
    assert [row["raw"] for row in read(write_warc(tmp_path / "a.warc", records)).rows] == [page(n) for n in range(3)]


def test_a_file_gzipped_as_a_whole_is_read(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(n) for n in range(5)], member=False)
    assert len(read(path).rows) == 5


def test_a_record_may_span_gzip_members(tmp_path):
    data = b"".join(response(n, 2000) for n in range(4))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(gzip.compress(data[at : at + 5000], mtime=0) for at in range(0, len(data), 5000)))
    assert [row["raw"] for row in read(path).rows] == [page(n, 2000) for n in range(4)]


def test_lz4_is_read(tmp_path):
    path = tmp_path / "a.warc.lz4"
    with open(path, "wb") as file:
        writer = Lz4Writer(file)
        for n in range(3):
            writer.write(response(n))
        writer.close()
    assert [row["raw"] for row in read(path).rows] == [page(n) for n in range(3)]


def test_header_names_count_in_any_case_and_folded_lines_are_joined(tmp_path):
    record = b"WARC/1.0\r\nwarc-type: response\r\nWARC-TARGET-URI: <http://example.org/\r\n  a>\r\ncontent-length: %d\r\n\r\n"
    body = http(page(1))
    (tmp_path / "a.warc").write_bytes(record % len(body) + body + b"\r\n\r\n")
    (row,) = read(tmp_path / "a.warc").rows
    assert row["url"] == "http://example.org/ a"


def test_a_header_of_200_kilobytes_is_read(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(1, X_Long="x" * 200_000), response(2)])
    assert len(read(path).rows) == 2


def test_a_page_cut_short_is_counted_as_failed(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(n, 500) for n in range(3)])
    path.write_bytes(path.read_bytes()[:-200])
    found = read(path)
    assert len(found.rows) == 2
    (fault,) = found.faults
    assert (fault.rule, fault.url) == ("cut_file", "http://example.org/2")
    assert fault.offset == found.rows[1]["offset"] + len(gzip.compress(response(1, 500), mtime=0))


def test_a_plain_file_cut_short_is_counted_as_failed(tmp_path):
    path = write_warc(tmp_path / "a.warc", [response(n) for n in range(3)])
    path.write_bytes(path.read_bytes()[:-100])
    found = read(path)
    assert (len(found.rows), [f.rule for f in found.faults]) == (2, ["cut_file"])


def test_garbage_between_members_is_one_fault_and_the_rest_is_read(tmp_path):
    members = [gzip.compress(response(n), mtime=0) for n in range(4)]
    (tmp_path / "a.warc.gz").write_bytes(members[0] + b"garbage\x00\x1f\x8b\x08garbage" * 50 + b"".join(members[1:]))
    found = read(tmp_path / "a.warc.gz")
    assert [row["raw"] for row in found.rows] == [page(n) for n in range(4)]
    (fault,) = found.faults
    assert (fault.rule, fault.offset) == ("damaged_region", len(members[0]))


def test_a_member_damaged_inside_costs_only_its_record(tmp_path):
    members = [bytearray(gzip.compress(response(n, 2000), mtime=0)) for n in range(5)]
    middle = len(members[2]) // 2
    members[2][middle : middle + 50] = bytes(50)
    (tmp_path / "a.warc.gz").write_bytes(b"".join(members))
    found = read(tmp_path / "a.warc.gz")
    assert [row["raw"] for row in found.rows] == [page(n, 2000) for n in (0, 1, 3, 4)]
    (fault,) = found.faults
    assert (fault.rule, fault.url) == ("damaged_record", "http://example.org/2")


def test_a_wrong_checksum_fails_the_record(tmp_path):
    members = [bytearray(gzip.compress(response(n), mtime=0)) for n in range(3)]
    members[1][-6] ^= 0xFF
    (tmp_path / "a.warc.gz").write_bytes(b"".join(members))
    found = read(tmp_path / "a.warc.gz")
    assert [row["raw"] for row in found.rows] == [page(0), page(2)]
    assert [fault.rule for fault in found.faults] == ["damaged_record"]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_a_length_that_says_too_much_costs_only_its_record(tmp_path, name):
    records = [response(0), response(1, Content_Length=100_000_000), response(2), response(3)]
    found = read(write_warc(tmp_path / name, records), limit=10_000)
    assert [row["raw"] for row in found.rows] == [page(0), page(2), page(3)]
    assert [(f.rule, f.url) for f in found.faults] == [("damaged_record", "http://example.org/1")]


@pytest.mark.parametrize("member", [True, False])
def test_a_length_that_says_too_little_gives_the_record_and_a_fault_for_the_rest(tmp_path, member):
    body = http(page(1))
    records = [response(0), warc_record("response", body, number=1, Content_Length=len(body) - 5), response(2)]
    found = read(write_warc(tmp_path / "a.warc.gz", records, member=member))
    assert [row["raw"] for row in found.rows] == [page(0), page(1)[:-5], page(2)]
    assert [fault.rule for fault in found.faults] == ["damaged_region"]


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\r\n"])
def test_a_header_without_its_end_does_not_swallow_the_next_record(tmp_path, end):
    broken = response(1).replace(b"\r\n\r\n", b" ").rstrip() + end
    found = read(write_warc(tmp_path / "a.warc", [response(0), broken, response(2), response(3)]))
    assert [row["raw"] for row in found.rows] == [page(0), page(2), page(3)]
    assert [fault.rule for fault in found.faults] == ["damaged_record"]


def test_a_warc_inside_a_record_is_one_record(tmp_path):
    inner = warc_record("resource", response(7) + response(8), Content_Type="application/warc")
    found = read(write_warc(tmp_path / "a.warc", [response(0), inner, response(2)]))
    assert [row["raw"] for row in found.rows] == [page(0), page(2)]
    assert found.ignored == {"not a page: application/warc": 1}


@pytest.mark.parametrize("length", ["abc", "-1", None])
def test_a_record_without_a_length_is_a_fault(tmp_path, length):
    records = [response(0), response(1, Content_Length=length), response(2)]
    found = read(write_warc(tmp_path / "a.warc", records))
    assert [row["raw"] for row in found.rows] == [page(0), page(2)]
    assert [fault.rule for fault in found.faults] == ["damaged_record"]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_a_record_over_the_limit_is_a_fault_and_not_read(tmp_path, name):
    records = [response(0), response(1, 5000), response(2)]
    found = read(write_warc(tmp_path / name, records), limit=20_000)
    assert [row["raw"] for row in found.rows] == [page(0), page(2)]
    assert [(f.rule, f.url) for f in found.faults] == [("record_too_large", "http://example.org/1")]


def test_a_bomb_is_left_without_inflating_it_all(tmp_path):
    bomb = warc_record("response", http(b"<html>" + bytes(20_000_000)), number=1)
    found = read(write_warc(tmp_path / "a.warc.gz", [response(0), bomb, response(2)]), limit=100_000)
    assert [row["raw"] for row in found.rows] == [page(0), page(2)]
    assert [fault.rule for fault in found.faults] == ["record_too_large"]


def test_a_body_that_expands_beyond_the_limit_is_a_fault(tmp_path):
    body = http(gzip.compress(b"<html>" + bytes(1_000_000)), Content_Encoding="gzip")
    found = read(write_warc(tmp_path / "a.warc", [warc_record("response", body), response(2)]), limit=100_000)
    assert [row["raw"] for row in found.rows] == [page(2)]
    assert [fault.rule for fault in found.faults] == ["record_too_large"]


def test_zero_padding_behind_the_last_member_is_no_damage(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(0)])
    path.write_bytes(path.read_bytes() + bytes(512))
    found = read(path)
    assert (len(found.rows), found.faults) == (1, [])


def test_a_skipped_document_is_failed_by_its_cause_and_the_others_keep_their_numbers(tmp_path):
    image = warc_record("response", http(b"\xff\xd8\xff\xe0...", content_type="image/jpeg"))
    records = [response(0), image, warc_record("request", b"GET"), response(1), response(2)]
    path = write_warc(tmp_path / "a.warc.gz", records)
    first = read(path)
    again = read(path, skip={first.numbers[1]: ("cpu_time", "30 s")})
    assert again.numbers == first.numbers
    assert [row["raw"] for row in again.rows] == [page(0), page(2)]
    (fault,) = again.faults
    assert (fault.rule, fault.detail, fault.url) == ("cpu_time", "30 s", "http://example.org/1")
    assert again.ignored == first.ignored


def test_the_guard_names_the_record_that_is_read_and_then_the_next(tmp_path, monkeypatch):
    path = write_warc(tmp_path / "a.warc", [response(n) for n in range(3)])
    board, seen = Board(1), []
    answer = WarcReader._answer
    with monkeypatch.context() as patch:
        patch.setattr(guard, "map", None)
        patch.setattr(guard, "cpu_seconds", 0.0)
        patch.setattr(WarcReader, "_answer", lambda *given: seen.append(board.look(0)[0::2]) or answer(*given))
        guard.watch(board.fileno(), 0)
        rows = read(path).rows
        assert seen == [(n, row["offset"]) for n, row in enumerate(rows)]
        assert board.look(0)[0] == 3


def test_batches_are_bounded_by_bytes(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [response(n, 200) for n in range(20)])
    found = read(path, batch=5000)
    assert [row["raw"] for row in found.rows] == [page(n, 200) for n in range(20)]
    assert all(1 <= len(batch) <= 4 for batch in found.batches)
    assert max(map(len, found.batches)) > 1


def test_a_url_with_blanks_and_one_in_angle_brackets_are_kept_readable(tmp_path):
    records = [response(1, WARC_Target_URI="http://example.org/a b"), response(2, WARC_Target_URI="<http://b.org/>")]
    rows = read(write_warc(tmp_path / "a.warc", records)).rows
    assert [row["url"] for row in rows] == ["http://example.org/a b", "http://b.org/"]


def arc(records: list[tuple[str, bytes]]) -> list[bytes]:
    head = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"
    pieces = [b"filedesc://a.arc 0.0.0.0 20140216050221 text/plain %d\n%s\n" % (len(head), head)]
    return [
        *pieces,
        *(f"{url} 1.2.3.4 20140216050221 text/html {len(body)}\n".encode() + body + b"\n" for url, body in records),
    ]


@pytest.mark.parametrize("name", ["a.arc", "a.arc.gz"])
def test_arc_records_are_read(tmp_path, name):
    records = [(f"http://example.org/a b/{n}", http(page(n))) for n in range(3)]
    found = read(write_warc(tmp_path / name, arc(records)))
    assert [row["raw"] for row in found.rows] == [page(n) for n in range(3)]
    assert (found.rows[2]["url"], found.rows[2]["date"]) == ("http://example.org/a b/2", "2014-02-16T05:02:21Z")
    assert found.ignored == {"warcinfo": 1}


def test_an_arc_with_a_bad_length_loses_only_that_record(tmp_path):
    pieces = arc([(f"http://example.org/{n}", http(page(n))) for n in range(3)])
    pieces[2] = pieces[2].replace(b"text/html %d" % len(http(page(1))), b"text/html -1", 1)
    found = read(write_warc(tmp_path / "a.arc", pieces))
    assert [row["raw"] for row in found.rows] == [page(0), page(2)]
    assert [(f.rule, f.url) for f in found.faults] == [("damaged_record", "http://example.org/1")]
