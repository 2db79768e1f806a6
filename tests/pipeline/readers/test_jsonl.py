import gzip
import json

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers.json_values import canonical_json
from tests.pipeline.readers.made import read, write_jsonl

ROWS = [{"text": f"document {n}", "id": f"id-{n}"} for n in range(5)]


def texts(found) -> list[str]:
    return [row["text"] for row in found.rows]


def test_keys_become_columns_and_the_others_stay_together(tmp_path):
    line = {"text": "t", "id": "i", "url": "u", "source": "s", "date": "d", "b": [1, {"y": None, "x": 2.5}], "a": "ä"}
    (row,) = read(write_jsonl(tmp_path / "a.jsonl", [line])).rows
    assert (row["text"], row["id"], row["url"], row["source"], row["date"]) == ("t", "i", "u", "s", "d")
    assert row["extra"] == '{"a":"ä","b":[1,{"x":2.5,"y":null}]}'
    assert (row["file"], row["offset"], row["raw"]) == ("a.jsonl", 0, None)


def test_a_source_given_by_the_recipe_wins_and_loses_nothing(tmp_path):
    (row,) = read(write_jsonl(tmp_path / "a.jsonl", [{"text": "t", "source": "theirs"}]), source="ours").rows
    assert (row["source"], json.loads(row["extra"])) == ("ours", {"source": "theirs"})


def test_keys_may_be_called_differently(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"content": "t", "doc_id": 7, "link": "u", "text": "other"}])
    (row,) = read(path, columns=(("id", "doc_id"), ("text", "content"), ("url", "link"))).rows
    assert (row["text"], row["id"], row["url"], row["extra"]) == ("t", "7", "u", '{"text":"other"}')


def test_pages_become_raw(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"page": "<p>ä</p>"}])
    (row,) = read(path, columns=(("html", "page"),)).rows
    assert (row["raw"], row["content_type"], row["text"]) == ("<p>ä</p>".encode(), "text/html; charset=utf-8", None)
    (row,) = read(write_jsonl(tmp_path / "b.jsonl", [{"html": "<p>"}])).rows
    assert row["raw"] == b"<p>"


@pytest.mark.parametrize(("value", "id"), [(5, "5"), (2.5, "2.5"), (True, "true"), ("x", "x"), ({"a": 1}, '{"a":1}')])
def test_ids_of_any_type_become_text(tmp_path, value, id):
    assert read(write_jsonl(tmp_path / "a.jsonl", [{"text": "t", "id": value}])).rows[0]["id"] == id


def test_missing_ids_become_file_name_and_offset(tmp_path):
    rows = read(
        write_jsonl(tmp_path / "a.jsonl", [{"text": "t"}, {"text": "u", "id": None}, {"text": "v", "id": ""}])
    ).rows
    assert [row["id"] for row in rows] == ["a.jsonl#0", "a.jsonl#14", "a.jsonl#40"]


def test_a_bad_line_is_a_fault_with_its_offset_and_the_rest_is_read(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [ROWS[0], b"{broken", b"[1, 2]", b'"text"', ROWS[1]])
    found = read(path)
    assert texts(found) == ["document 0", "document 1"]
    start = len(json.dumps(ROWS[0])) + 1
    assert [(f.rule, f.offset) for f in found.faults] == [
        ("bad_json", start),
        ("not_an_object", start + 8),
        ("not_an_object", start + 15),
    ]
    assert found.faults[0].text == "{broken"


@pytest.mark.parametrize(
    ("value", "rule", "what"),
    [
        (None, "no_text", "null or missing"),
        (5, "not_a_text", "a number"),
        (True, "not_a_text", "true or false"),
        (["a"], "not_a_text", "a list"),
        ({"a": 1}, "not_a_text", "an object"),
    ],
)
def test_a_line_without_text_is_a_fault_that_says_why_and_names_the_keys(tmp_path, value, rule, what):
    path = write_jsonl(tmp_path / "a.jsonl", [ROWS[0], {"text": value, "body": "x", "id": "i", "url": "u"}])
    (fault,) = read(path).faults
    assert (fault.rule, fault.id, fault.url) == (rule, "i", "u")
    assert f"'text' is {what}" in fault.detail
    assert "body" in fault.detail


def test_an_empty_text_is_a_document(tmp_path):
    assert texts(read(write_jsonl(tmp_path / "a.jsonl", [{"text": ""}]))) == [""]


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n  \n{"text": "b"}')
    found = read(path)
    assert (texts(found), found.faults) == (["a", "b"], [])


def test_lone_surrogates_become_replacement_characters_everywhere(tmp_path):
    line = rb'{"text": "a\ud800b \ud83d\ude00", "id": "\udc00", "\ud801": ["\ud802"]}'
    (row,) = read(write_jsonl(tmp_path / "a.jsonl", [line])).rows
    assert (row["text"], row["id"], row["extra"]) == ("a\ufffdb 😀", "\ufffd", '{"\ufffd":["\ufffd"]}')


def test_invalid_utf8_is_replaced(tmp_path):
    assert texts(read(write_jsonl(tmp_path / "a.jsonl", [b'{"text": "caf\xe9"}']))) == ["caf\ufffd"]


def test_odd_numbers_and_deep_nesting_do_not_end_the_file(tmp_path):
    deep = b'{"text": "deep", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    odd = b'{"text": "odd", "a": NaN, "b": -Infinity, "c": 123456789012345678901234567890, "d": 1e400}'
    found = read(write_jsonl(tmp_path / "a.jsonl", [deep, odd, ROWS[0]]))
    assert texts(found) == ["odd", "document 0"]
    assert json.loads(found.rows[0]["extra"])["c"] == 123456789012345678901234567890
    assert [fault.rule for fault in found.faults] == ["bad_json"]


def test_a_line_over_the_limit_is_a_fault_and_the_next_is_read(tmp_path):
    found = read(write_jsonl(tmp_path / "a.jsonl", [ROWS[0], {"text": "x" * 300_000}, ROWS[1]]), limit=100_000)
    assert texts(found) == ["document 0", "document 1"]
    assert [fault.rule for fault in found.faults] == ["record_too_large"]


def test_gzip_of_several_members_is_read(tmp_path):
    lines = [json.dumps(row).encode() + b"\n" for row in ROWS]
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(gzip.compress(line) for line in lines))
    assert texts(read(tmp_path / "a.jsonl.gz")) == [row["text"] for row in ROWS]


def test_zstd_of_several_frames_and_a_skippable_one_is_read(tmp_path):
    lines = [json.dumps(row).encode() + b"\n" for row in ROWS]
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    (tmp_path / "a.jsonl.zst").write_bytes(skippable + skippable.join(zstandard.compress(line) for line in lines))
    assert texts(read(tmp_path / "a.jsonl.zst")) == [row["text"] for row in ROWS]


def test_zstd_with_a_window_of_two_gigabytes_is_read(tmp_path):
    settings = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=False, compression_level=1)
    packer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    packed = packer.compress(b'{"text": "a"}\n{"text": "b"}\n') + packer.flush()
    assert zstandard.get_frame_parameters(packed).window_size == 1 << 31
    (tmp_path / "a.jsonl.zst").write_bytes(packed)
    assert texts(read(tmp_path / "a.jsonl.zst")) == ["a", "b"]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_what_is_readable_of_a_cut_file_is_read_and_the_cut_is_one_fault(tmp_path, name):
    pack = gzip.compress if name.endswith("gz") else zstandard.compress
    rows = [{"text": f"{n * 7919 % 9973} {n * 104729 % 99991}"} for n in range(20_000)]
    data = pack(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    found = read(tmp_path / name)
    assert 1000 < len(found.rows) < 20_000
    assert texts(found) == [row["text"] for row in rows[: len(found.rows)]]
    assert [fault.rule for fault in found.faults] == ["cut_file"]


def test_reading_goes_on_at_the_member_behind_a_damaged_one(tmp_path):
    members = [bytearray(gzip.compress(json.dumps(row).encode() + b"\n")) for row in ROWS]
    members[2][15:25] = bytes(10)
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(members))
    found = read(tmp_path / "a.jsonl.gz")
    assert {"document 0", "document 1", "document 3", "document 4"} <= set(texts(found))
    assert "damaged_region" in [fault.rule for fault in found.faults]


def test_a_last_line_without_a_line_break_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n{"text": "b"}')
    assert texts(read(tmp_path / "a.jsonl")) == ["a", "b"]


def test_a_skipped_line_is_failed_by_its_cause(tmp_path):
    found = read(write_jsonl(tmp_path / "a.jsonl", ROWS), skip={2: ("memory", "2 GB")})
    assert found.numbers == [0, 1, 2, 3, 4]
    assert texts(found) == ["document 0", "document 1", "document 3", "document 4"]
    assert [(f.number, f.rule) for f in found.faults] == [(2, "memory")]


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)))  # fmt: skip
def test_canonical_json_holds_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize("line", [b"\n", b" \t\r\n"])
def test_blank_lines_in_any_number_move_offsets_and_cost_nothing(tmp_path, line):
    path = write_jsonl(tmp_path / "a.jsonl.gz", [b'{"text": "a"}', line * 3_000_000, b'{"text": "b"}'])
    first, second = read(path).rows
    assert (first["offset"], second["offset"]) == (0, 14 + 3_000_000 * len(line) + 1)


def test_an_object_without_a_text_is_told_which_keys_it_has(tmp_path):
    rows = [{"text": "a text"}, {}, {"id": "x", "body": "a text"}]
    details = [fault.detail for fault in read(write_jsonl(tmp_path / "a.jsonl", rows)).faults]
    assert ["none" in details[0], "keys there: body, id;" in details[1]] == [True, True]
