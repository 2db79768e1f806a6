"""Files as people have them: JSON over many lines, CSV, TSV, plain text, in UTF-16, packed by bzip2 and xz, joined."""

import bz2
import codecs
import contextlib
import gzip
import io
import json
import lzma
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.readers import InputFile, delimited, detect_format, plan_splits, provides
from pipeline.readers.lines import Line, values
from tests.pipeline.readers.made import read, write_jsonl

ROWS = [{"text": f"document {n} – äöü", "id": f"id-{n}", "n": n} for n in range(50)]
TEXTS = [row["text"] for row in ROWS]
WIDE = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0", "utf-32-be": b"\0\0\xfe\xff"}


def texts(found) -> list[str]:
    return [row["text"] for row in found.rows]


def kind(path) -> str:
    return detect_format(InputFile(str(path), path.name))


def check(path, *columns) -> set[str]:
    return provides(InputFile(str(path), path.name, None, columns))


# --- JSON


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", ["list", "values"])
def test_lists_and_values_over_many_lines_are_read_like_lines(tmp_path, indent, shape):
    path = tmp_path / "a.json"
    whole = (
        json.dumps(ROWS, indent=indent)
        if shape == "list"
        else "\n".join(json.dumps(r, indent=indent or 1) for r in ROWS)
    )
    path.write_text(whole, "utf-8")
    found = read(path, split=100)
    assert (kind(path), texts(found), found.faults) == ("json", TEXTS, [])
    assert [row["extra"] for row in found.rows] == [f'{{"n":{n}}}' for n in range(50)]
    data = path.read_bytes()
    assert [json.JSONDecoder().raw_decode(data[row["offset"] :].decode())[0]["id"] for row in found.rows] == [
        row["id"] for row in found.rows
    ]


def test_a_list_of_one_line_and_an_empty_one_are_lists(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"text": "a"}]))
    assert (kind(tmp_path / "a.json"), texts(read(tmp_path / "a.json"))) == ("json", ["a"])
    (tmp_path / "b.json").write_text("[]")
    assert (kind(tmp_path / "b.json"), read(tmp_path / "b.json").items) == ("json", [])


def test_a_damaged_element_of_a_list_is_a_fault_and_the_next_are_read(tmp_path):
    elements = [json.dumps(row, indent=1) for row in ROWS[:6]]
    elements[2] = elements[2].replace('"id-2"', '"id-2')
    elements[4] = "17"
    (tmp_path / "a.json").write_text("[\n" + ",\n".join(elements) + "\n]", "utf-8")
    found = read(tmp_path / "a.json")
    assert texts(found) == [TEXTS[n] for n in (0, 1, 3, 5)]
    assert [fault.rule for fault in found.faults] == ["bad_json", "not_an_object"]


def test_an_element_over_the_limit_and_a_cut_list_are_faults(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"text": "x" * 500}, {"text": "b"}, {"text": "c" * 90}])[:-20])
    found = read(tmp_path / "a.json", limit=200)
    assert (texts(found), [f.rule for f in found.faults]) == (["b"], ["record_too_large", "bad_json"])


def reference(data: bytes) -> list[bytes]:
    """The values of JSON text by Python's own scanner."""
    text, found, at = data.decode("latin-1"), [], 0
    inside = False
    while at < len(text):
        if text[at] in " \t\r\n,":
            at += 1
        elif text[at] == "[" and not inside:
            inside, at = True, at + 1
        elif text[at] == "]" and inside:
            inside, at = False, at + 1
        else:
            end = json.JSONDecoder().raw_decode(text, at)[1]
            found.append(text[at:end].encode("latin-1"))
            at = end
    return found


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
                    lambda i: st.lists(i, max_size=3) | st.dictionaries(st.text(max_size=4), i, max_size=3), max_leaves=8)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(JSON, max_size=4) | st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=4),
    st.sampled_from([None, 1]),
)
def test_values_end_where_python_finds_their_end(found, indent):
    data = "\n".join(json.dumps(v, indent=indent, ensure_ascii=False) for v in found).encode()
    lines = list(values(io.BytesIO(data), "", 1 << 20))
    assert [line.data for line in lines if isinstance(line, Line)] == reference(data)
    assert all(data[line.offset :].startswith(line.data) for line in lines)


@pytest.mark.parametrize("key", ["data.content", "content.text"])
def test_keys_inside_objects_are_found_by_dots(tmp_path, key):
    outer, _, inner = key.partition(".")
    row = {outer: {inner: "t", "other": 1}, "meta": {"id": "i", "deep": {"url": "u"}}}
    found = read(
        write_jsonl(tmp_path / "a.jsonl", [row]), columns=(("id", "meta.id"), ("text", key), ("url", "meta.deep.url"))
    )
    (row,) = found.rows
    assert (row["text"], row["id"], row["url"]) == ("t", "i", "u")
    assert json.loads(row["extra"]) == {outer: {"other": 1}, "meta": {"deep": {}}}


def test_a_key_with_a_dot_in_its_name_counts_before_one_inside(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"a.b": "flat", "a": {"b": "nested"}}, {"a": {"b": "nested"}}])
    assert texts(read(path, columns=(("text", "a.b"),))) == ["flat", "nested"]


def test_texts_that_are_all_lists_of_paragraphs_are_joined_and_one_among_texts_is_a_fault(tmp_path):
    assert texts(read(write_jsonl(tmp_path / "a.jsonl", [{"text": ["a", "b"]}, {"text": ["c"]}]))) == ["a\nb", "c"]
    found = read(write_jsonl(tmp_path / "b.jsonl", [{"text": ["a", "b"]}, {"text": "c"}]))
    assert (texts(found), [f.rule for f in found.faults]) == (["c"], ["not_a_text"])


def test_an_integer_of_thousands_of_digits_beside_the_text_costs_nothing(tmp_path):
    found = read(write_jsonl(tmp_path / "a.jsonl", [b'{"text": "t", "n": ' + b"9" * 5000 + b"}"]))
    assert (texts(found), json.loads(found.rows[0]["extra"])) == (["t"], {"n": "9" * 5000})


# --- a wrong column


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([{"content": "a b c", "n": 1}], ["no key 'text'", "content, n", 'text = "content"', "first object"]),
        (
            [{"title": "a", "data": {"raw_content": "b"}}] * 3,
            ["data.raw_content", 'text = "data.raw_content"', "first 3 objects"],
        ),
        ([{"raw_html": "<p>"}], ['html = "raw_html"']),
        ([{"k": "short", "x": "by far the longest of the texts"}], ['text = "x"']),
        ([{"text": 5, "body": "b"}], ["key 'text' is a number, not text", 'text = "body"']),
        ([{"n": 1}], ["none holds text"]),
        ([{}], ["no keys"]),
    ],
)
def test_a_wrong_column_is_found_before_any_work_with_the_keys_and_the_likely_one(tmp_path, rows, parts):
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputError) as error:
        check(path)
    assert [part for part in ["a.jsonl", *parts] if part not in str(error.value)] == []


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ('["a", "b"]', "holds no objects: the first value is a text"),
        ("[1, 2]\n[3, 4]\n", "a number"),
        ("not json\nat all\n", "is no JSON, as far as its first 2 lines show"),
        ('{"version": 1, "data": [{"text": "a"}]}', "data is a list of objects: write them as JSON lines"),
    ],
)
def test_a_file_that_holds_no_objects_is_found_before_any_work(tmp_path, content, part):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=part):
        check(tmp_path / "a.json")


def test_a_table_without_a_header_is_told_so(tmp_path):
    (tmp_path / "a.csv").write_text("1,the lamp burns on the rock tonight\n2,and the keeper writes\n")
    with pytest.raises(InputError, match="write a first row that names the columns"):
        check(tmp_path / "a.csv")


def test_bad_lines_among_objects_and_a_long_line_that_is_cut_are_no_reason_to_refuse(tmp_path):
    assert check(write_jsonl(tmp_path / "a.jsonl", [b"{broken"] * 90 + [{"text": "t"}])) == {"text"}
    assert check(write_jsonl(tmp_path / "b.jsonl", [{"text": "x" * 2_000_000}, {"text": "y"}])) == {"text"}


def test_a_key_that_the_recipe_names_and_no_object_has_is_said(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": "t", "link": "u"}])
    with pytest.raises(InputError, match=r"no key 'lnk'; there are text, link"):
        check(path, ("url", "lnk"))
    assert check(path, ("url", "link")) == {"text"}


def test_texts_that_are_null_or_come_later_are_no_wrong_column(tmp_path):
    assert check(write_jsonl(tmp_path / "a.jsonl", [{"text": None}] * 3)) == {"text"}
    assert check(write_jsonl(tmp_path / "b.jsonl", [{"a": 1}, {"text": "t"}])) == {"text"}
    assert check(write_jsonl(tmp_path / "c.jsonl", [{"a": 1}, {"html": "t"}])) == {"raw"}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_without_the_column_is_said_with_the_columns(tmp_path, name):
    (tmp_path / name).write_text("id,body\n1,words\n".replace(",", "," if name == "a.csv" else "\t"))
    with pytest.raises(InputError, match=r'first row has no column .text.; there are id, body: .*text = "body"'):
        check(tmp_path / name)


# --- CSV and TSV


def test_rows_of_csv_are_documents_whatever_their_cells_hold(tmp_path):
    (tmp_path / "a.csv").write_text(
        'id,text,n\r\n1,"one, ""two""\nthree",x\r\n2,plain,\r\n\r\n3,"",y', "utf-8", newline=""
    )
    first, second, third = read(tmp_path / "a.csv").rows
    assert (first["id"], first["text"], first["extra"]) == ("1", 'one, "two"\nthree', '{"n":"x"}')
    assert (second["text"], third["text"]) == ("plain", "")
    data = (tmp_path / "a.csv").read_bytes()
    assert [data[row["offset"] :][:2] for row in (first, second, third)] == [b"1,", b"2,", b"3,"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_of_csv_is_that_of_its_header(tmp_path, delimiter):
    (tmp_path / "a.csv").write_text(f"id{delimiter}text\n1{delimiter}a, b\n")
    assert texts(read(tmp_path / "a.csv")) == ["a, b"]


def test_a_mark_that_is_never_closed_costs_its_own_row(tmp_path):
    rows = ["id,text"] + [f"{n},text {n}" for n in range(20)]
    rows[4] = '3,"text 3'
    (tmp_path / "a.csv").write_text("\n".join(rows))
    found = read(tmp_path / "a.csv")
    assert texts(found) == [f"text {n}" for n in range(20) if n != 3]
    assert [(f.rule, f.detail) for f in found.faults] == [
        ("bad_row", "line 5: the quotation mark opened here is never closed")
    ]
    assert texts(read(tmp_path / "a.csv", limit=60)) == texts(found)


def test_marks_inside_a_quoted_cell_that_nobody_doubled_are_read_as_they_stand(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"he said "no" and left"\n2,b\n')
    found = read(tmp_path / "a.csv")
    assert (len(found.rows), found.faults, texts(found)[1]) == (2, [], "b")
    assert "he said" in texts(found)[0]


def test_a_row_with_more_cells_than_columns_is_a_fault_and_one_with_fewer_has_none_there(tmp_path):
    (tmp_path / "a.csv").write_text("text,id\na,1,surplus\nb\nc,3\n")
    found = read(tmp_path / "a.csv")
    assert [(row["text"], row["id"]) for row in found.rows] == [("b", "a.csv#20"), ("c", "3")]
    assert [(f.rule, f.detail) for f in found.faults] == [("bad_row", "line 2: 3 cells under 2 columns")]


def test_a_mark_that_is_never_closed_holds_no_more_lines_than_memory_does(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(b'id,text\n1,"open\n' + b"2,b\n" * 5000)
    held = []
    mended = delimited.Rows._mended
    monkeypatch.setattr(delimited.Rows, "_mended", lambda self, why: held.append(len(self._row)) or mended(self, why))
    found = read(tmp_path / "a.csv", limit=100_000)
    assert (len(found.rows), [fault.rule for fault in found.faults]) == (5000, ["bad_row"])
    assert min(held) < 1000  # the head of the file is held whole


def test_names_of_columns_are_made_unique_however_many_there_are():
    assert delimited._names(["m", "m", "m_2", "", "m"]) == ["m", "m_2", "m_2_2", "column 4", "m_3"]
    assert len(set(delimited._names(["m"] * 100_000 + ["x"]))) == 100_001


def test_blank_lines_of_csv_are_no_rows_but_stay_in_cells_and_in_the_count_of_lines(tmp_path):
    blank = b"\n\r\n" * 40_000  # more than are read at a time
    (tmp_path / "a.csv").write_bytes(b"id,text\n" + blank + b'1,"a\n\n\nb"\n' + blank + b"2,c,too much\n\n3, \n")
    found = read(tmp_path / "a.csv")
    assert [row["text"] for row in found.rows] == ["a\n\n\nb", " "]
    assert [fault.detail for fault in found.faults] == ["line 160006: 3 cells under 2 columns"]
    assert (tmp_path / "a.csv").read_bytes()[found.faults[0].offset :].startswith(b"2,c")


def test_tsv_has_no_quoting_unless_its_rows_only_fit_with_it(tmp_path):
    (tmp_path / "a.tsv").write_text('id\ttext\n1\t"open\n2\tit\'s "quoted"\n')
    assert texts(read(tmp_path / "a.tsv")) == ['"open', 'it\'s "quoted"']
    (tmp_path / "b.tsv").write_text('id\ttext\n1\t"two\nlines"\n2\t"tab\there"\n')
    assert texts(read(tmp_path / "b.tsv")) == ["two\nlines", "tab\there"]


def test_columns_of_one_name_and_without_a_name_are_all_kept(tmp_path):
    (tmp_path / "a.csv").write_text("text,m,m,\nt,1,2,3\n")
    assert json.loads(read(tmp_path / "a.csv").rows[0]["extra"]) == {"m": "1", "m_2": "2", "column 4": "3"}


def test_joined_csv_files_have_one_header_more_which_is_no_document(tmp_path):
    one, two = "\ufeffid,text\n1,a\n", "\ufeffid,text\n2,b\n"
    (tmp_path / "a.csv").write_bytes((one + two).encode())
    found = read(tmp_path / "a.csv")
    assert (texts(found), dict(found.ignored)) == (["a", "b"], {"a header row again": 1})


def test_csv_of_windows_is_read_by_its_charset(tmp_path):
    text = "Die Straße führt über die Brücke, schön grün, und die Häuser sind größer."
    (tmp_path / "a.csv").write_bytes(f'id,text\n1,"{text}"\n'.encode("cp1252"))
    assert texts(read(tmp_path / "a.csv")) == [text]


def test_a_table_without_rows_gives_nothing_and_an_empty_one_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n")
    assert (check(tmp_path / "a.csv"), read(tmp_path / "a.csv").items) == ({"text"}, [])
    (tmp_path / "b.csv").write_text("\n\n")
    with pytest.raises(InputError, match=r"b\.csv has no row that names its columns"):
        check(tmp_path / "b.csv")


def test_rows_of_csv_survive_any_cells(tmp_path):
    dice = random.Random(3)
    cells = ["".join(dice.choice('ab",;\t\n \r') for _ in range(dice.randrange(12))) + "x" for _ in range(300)]
    out = io.StringIO()
    writer = __import__("csv").writer(out)
    writer.writerows([["id", "text"], *([f"i{n}", cell] for n, cell in enumerate(cells))])
    (tmp_path / "a.csv").write_bytes(out.getvalue().encode())
    found = read(tmp_path / "a.csv")
    assert found.faults == []
    assert [(row["id"], row["text"]) for row in found.rows] == [(f"i{n}", cell) for n, cell in enumerate(cells)]


# --- text


def test_a_text_file_is_one_document_and_a_page_saved_as_a_file_is_a_page(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffErste Zeile\r\n\r\nzweite\r\n".encode())
    (row,) = read(tmp_path / "a.txt", split=5).rows
    assert (row["id"], row["text"]) == ("a.txt", "Erste Zeile\n\nzweite\n")
    (tmp_path / "b.html").write_bytes(b"<p>caf\xe9</p>")
    assert check(tmp_path / "b.html") == {"raw"}
    (row,) = read(tmp_path / "b.html").rows
    assert (row["raw"], row["content_type"], row["text"]) == (b"<p>caf\xe9</p>", "text/html", None)
    (tmp_path / "c.txt").write_bytes(b" \n")
    assert read(tmp_path / "c.txt").items == []


def test_a_text_in_a_legacy_charset_is_read_by_what_it_looks_like(tmp_path):
    text = "Съешь же ещё этих мягких французских булок, да выпей чаю, говорит он ей.\n" * 5
    (tmp_path / "a.txt").write_bytes(text.encode("cp1251"))
    assert texts(read(tmp_path / "a.txt")) == [text]


def test_a_text_over_the_limit_or_cut_is_a_fault(tmp_path):
    (tmp_path / "a.txt").write_text("word " * 100)
    (fault,) = read(tmp_path / "a.txt", limit=100).faults
    assert (fault.rule, 'documents = "line"' in fault.detail) == ("record_too_large", True)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(bytes(random.Random(1).randbytes(5000).hex(), "ascii"))[:-900])
    assert [f.rule for f in read(tmp_path / "b.txt.gz").faults] == ["cut_file"]


def test_a_skipped_row_element_or_text_is_failed_by_its_cause(tmp_path):
    (tmp_path / "a.csv").write_text("text\na\nb\n")
    (tmp_path / "a.json").write_text('[{"text": "a"}, {"text": "b"}]')
    for name in ("a.csv", "a.json"):
        found = read(tmp_path / name, skip={0: ("memory", "2 GB")})
        assert (texts(found), [(f.number, f.rule) for f in found.faults]) == (["b"], [(0, "memory")])
    (tmp_path / "a.txt").write_text("a")
    assert [f.rule for f in read(tmp_path / "a.txt", skip={0: ("memory", "2 GB")}).faults] == ["memory"]


# --- bytes


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("codec", WIDE)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt", "a.jsonl.gz"])
def test_files_in_utf16_and_utf32_are_read_with_or_without_a_mark(tmp_path, name, codec, marked):
    content = {
        "a.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in ROWS),
        "a.json": json.dumps(ROWS, indent=1, ensure_ascii=False),
        "a.csv": "id,text\r\n" + "".join(f'{row["id"]},"{row["text"]}"\r\n' for row in ROWS),
        "a.txt": "\n".join(TEXTS),
    }[name.removesuffix(".gz")]
    data = (WIDE[codec] if marked else b"") + content.encode(codec)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = read(tmp_path / name, split=100)
    assert (texts(found), found.faults) == (["\n".join(TEXTS)] if name == "a.txt" else TEXTS, [])
    assert kind(tmp_path / name).endswith(codec.replace("16-", "16").replace("32-", "32"))


def test_japanese_in_utf16_without_a_mark_is_seen(tmp_path):
    text = "".join(f'{{"text": "日本語の文章はここにあります。漢字とひらがな{n}"}}\n' for n in range(20))
    (tmp_path / "a.jsonl").write_bytes(text.encode("utf-16-le"))
    assert len(read(tmp_path / "a.jsonl").rows) == 20


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json"])
def test_a_mark_inside_joined_files_is_no_text(tmp_path, name):
    parts = {
        "a.jsonl": ['{"text": "a"}\n', '{"text": "b"}\n'],
        "a.csv": ["text\na\n", "b\n"],
        "a.json": ['[{"text": "a"}]\n', '[{"text": "b"}]\n'],
    }[name]
    (tmp_path / name).write_bytes(b"".join(codecs.BOM_UTF8 + part.encode() for part in parts))
    found = read(tmp_path / name)
    assert (texts(found), found.faults) == (["a", "b"], [])
    (tmp_path / name).write_bytes(b"".join(part.encode("utf-16") for part in parts))
    assert texts(read(tmp_path / name)) == ["a", "b"]


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_bzip2_and_xz_are_unpacked_stream_after_stream(tmp_path, ending, pack):
    data = [json.dumps(row).encode() + b"\n" for row in ROWS]
    path = tmp_path / f"a.jsonl.{ending}"
    path.write_bytes(pack(b"".join(data[:20])) + pack(b"".join(data[20:])))
    found = read(path, split=50)
    assert (kind(path), texts(found), found.faults) == (f"jsonl.{ending}", TEXTS, [])
    assert len(plan_splits(InputFile(str(path), "a"), 50)) == 1
    path.write_bytes(path.read_bytes()[:-30])
    found = read(path)
    assert (texts(found)[:20], [f.rule for f in found.faults]) == (TEXTS[:20], ["cut_file"])
    path.write_bytes(pack(b"".join(data)) + b"no stream")
    found = read(path)
    assert (texts(found), [f.rule for f in found.faults]) == (TEXTS, ["damaged_region"])


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_what_is_packed_without_an_ending_is_told_by_its_bytes(tmp_path, ending, pack):
    (tmp_path / "a").write_bytes(pack(b'{"text": "t"}\n'))
    assert kind(tmp_path / "a") == f"jsonl.{ending}"


def test_a_bomb_of_xz_is_not_unpacked_to_its_end(tmp_path):
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(b'{"text": "a"}\n' + bytes(50_000_000) + b'\n{"text": "b"}\n'))
    found = read(tmp_path / "a.jsonl.xz", limit=1_000_000)
    assert (texts(found), [f.rule for f in found.faults]) == (["a", "b"], ["record_too_large"])


PIECES = st.sampled_from([b'{"text": "a"}', b'{"id": 1, "text": "', b'"', b"\n", b"\r\n", b"[", b"]", b"{", b"}", b",", b"\t", b"\\",
                          b"id,text\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"caf\xe9", "äöü".encode(), b"1e999", b"null"])  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=4), max_size=25), st.sampled_from(["jsonl", "json", "csv", "tsv", "txt", "html"]),
       st.sampled_from([None, "utf-16", "utf-32-be"]), st.sampled_from(["", "bz2", "xz"]))  # fmt: skip
def test_no_bytes_make_a_reader_fail(tmp_path_factory, pieces, ending, codec, packed):
    data = b"".join(pieces)
    data = data if codec is None else data.decode("latin-1").encode(codec)
    data = {"": bytes, "bz2": bz2.compress, "xz": lzma.compress}[packed](data)
    path = tmp_path_factory.mktemp("any") / f"a.{ending}"
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        check(path)
    with contextlib.suppress(InputError):
        read(path, limit=50)


def test_the_scan_for_values_takes_pieces_of_any_size():
    from pipeline.readers.value_ends import fresh, next_value

    data = np.frombuffer(b'\xef\xbb\xbf[{"a": "]}"}, 7, "x\\"y"] {"b": [1]}', np.uint8)
    ends = []
    for size in (1, 3, 100):
        state, found = fresh(), []
        for before in range(0, len(data), size):
            piece, at, end = data[before : before + size], 0, 0
            while end >= 0:
                _, end = next_value(piece, at, state)
                if end >= 0:
                    found.append(before + end)
                    at = end
        ends.append(found)
    assert ends == [[15, 18, 26, 38]] * 3
