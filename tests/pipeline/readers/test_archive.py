"""Tar archives: each file in one is read as it would be in a folder."""

import gzip
import io
import json
import random
import tarfile

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.readers import InputFile, detect_format, plan_splits, provides
from pipeline.readers.packed import open_packed
from pipeline.readers.tar import BLOCK, Broken, Tar
from tests.pipeline.readers.made import page, read, response

LONG = "folder/" * 30 + "a-name-that-is-longer-than-a-header-holds-" * 4 + ".txt"


def tar(members: dict[str, bytes], *, format=tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def texts(found) -> list[str]:
    return [row["text"] for row in found.rows]


def rows(*values: str) -> bytes:
    return b"".join(json.dumps({"text": value}).encode() + b"\n" for value in values)


def members_of(data: bytes) -> list[tuple[str, bytes]]:
    archive = Tar(open_packed(io.BytesIO(data), ""))
    found = []
    for member in archive:
        body = bytearray()
        while not isinstance(member, Broken) and (piece := archive.read()):
            body += piece
        found.append(("", b"") if isinstance(member, Broken) else (member.path, bytes(body)))
    return found


# --- the archive


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@settings(max_examples=25)
@given(
    st.dictionaries(
        st.text("abä/.", min_size=1, max_size=40).map(lambda t: f"d/{t}.x"), st.binary(max_size=1500), max_size=6
    )
)
def test_members_are_those_that_were_put_in(format, members):
    assert members_of(tar(members, format=format)) == list(members.items())


def test_members_that_are_passed_over_cost_the_next_nothing():
    data = tar({f"{n}.txt": bytes([65 + n]) * (n * 300) for n in range(9)})
    archive = Tar(open_packed(io.BytesIO(data), ""))
    seen = [(m.path, archive.read()[:1]) if n % 2 else (m.path, b"") for n, m in enumerate(archive)]
    assert seen == [(f"{n}.txt", bytes([65 + n]) if n % 2 else b"") for n in range(9)]


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_names_that_are_no_utf_8_are_read(format):
    assert members_of(tar({LONG: b"x", "b.txt": b"y"}, format=format)) == [(LONG, b"x"), ("b.txt", b"y")]
    odd = tar({"caf#.txt": b"z"}, format=tarfile.GNU_FORMAT)
    header = bytearray(odd[:BLOCK])
    header[3] = 0xE9
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:]) + 256)
    assert members_of(bytes(header) + odd[BLOCK:]) == [("caf\\xe9.txt", b"z")]


def test_links_folders_and_devices_are_no_members(tmp_path):
    (tmp_path / "real.txt").write_text("real")
    (tmp_path / "link.txt").symlink_to("real.txt")
    (tmp_path / "twice.txt").hardlink_to(tmp_path / "real.txt")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(tmp_path, "top")
    assert [body for _, body in members_of(out.getvalue())] == [b"real"]


def test_behind_damage_reading_goes_on_at_the_next_header():
    parts = [tar({f"{n}.txt": b"text %d" % n})[: 2 * BLOCK] for n in range(4)]
    data = b"".join([parts[0], b"garbage!" * 192, parts[1], b"\xff" * BLOCK + parts[2][BLOCK:], parts[3], bytes(1024)])
    assert members_of(data) == [
        ("0.txt", b"text 0"), ("", b""), ("1.txt", b"text 1"), ("", b""), ("3.txt", b"text 3"),
    ]  # fmt: skip


def test_archives_that_were_joined_are_one():
    assert members_of(tar({"a.txt": b"a"}) + tar({"b.txt": b"b"})) == [("a.txt", b"a"), ("b.txt", b"b")]


@settings(max_examples=60)
@given(st.data())
def test_no_damage_raises_or_costs_more_than_it_covers(data):
    whole = bytearray(tar({f"{n}.txt": b"t" * (n * 97) for n in range(8)}))
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    found = members_of(bytes(whole[: data.draw(st.integers(1, len(whole)))]))
    assert sum(len(body) for _, body in found) <= len(whole)


# --- its documents


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.zst", "a.bin"])
def test_each_file_is_read_as_in_a_folder(tmp_path, name):
    data = tar({
        "top/a.txt": b"plain\ntext", "top/b.jsonl": rows("one", "two"), "./c.jsonl.gz": gzip.compress(rows("three")),
        "d.csv": b"text,n\nfour,4\n", "e.json": json.dumps([{"text": "five"}, {"text": "six"}], indent=1).encode(),
    })  # fmt: skip
    if name.endswith(("gz", "tgz")):
        data = gzip.compress(data)
    elif name.endswith("zst"):
        data = zstandard.compress(data)
    (tmp_path / name).write_bytes(data)
    file = InputFile(str(tmp_path / name), name)
    assert detect_format(file).partition(".")[0] == "tar"
    assert (provides(file), len(plan_splits(file, 10))) == ({"text"}, 1)
    found = read(tmp_path / name)
    assert (texts(found), found.faults) == (["plain\ntext", "one", "two", "three", "four", "five", "six"], [])
    assert found.rows[0]["file"] == f"{name}/top/a.txt"
    assert [row["id"] for row in found.rows][1:4] == [
        f"{name}/top/b.jsonl#0",
        f"{name}/top/b.jsonl#16",
        f"{name}/c.jsonl.gz#0",
    ]
    assert found.numbers == list(range(7))


def test_pages_and_crawls_are_read_beside_texts(tmp_path):
    crawl = b"".join(gzip.compress(response(n)) for n in range(3))
    (tmp_path / "a.tar").write_bytes(tar({"p.html": page(7), "c.warc.gz": crawl, "t.txt": b"text"}))
    assert provides(InputFile(str(tmp_path / "a.tar"), "a.tar")) == {"raw", "text"}
    found = read(tmp_path / "a.tar")
    assert [row["raw"] for row in found.rows] == [page(7), page(0), page(1), page(2), None]
    assert found.rows[-1]["text"] == "text"


def test_what_is_not_read_is_counted_by_its_ending(tmp_path):
    members = {"a.txt": b"text", "README.txt": b"about", "b.png": b"x", "c.png": b"x", "._a.txt": b"mac", "x/Makefile": b"x", "t.parquet": b"PAR1"}  # fmt: skip
    (tmp_path / "a.tar").write_bytes(tar(members))
    found = read(tmp_path / "a.tar")
    assert texts(found) == ["text"]
    assert dict(found.ignored) == {
        "not read from an archive: .png": 2, "not read from an archive: .txt": 1, "not read from an archive: hidden": 1,
        "not read from an archive: no known ending": 1, "not read from an archive: .parquet": 1,
    }  # fmt: skip


def test_members_that_cannot_be_read_are_faults_and_the_next_are_read(tmp_path):
    inner = tar({"x.txt": b"x"})
    members = {
        "a.txt": bytes(range(256)),
        "b.txt": b"good",
        "c.jsonl": b"no json\n",
        "d.jsonl": inner,
        "e.txt": b"also good",
    }
    (tmp_path / "a.tar").write_bytes(tar(members))
    assert provides(InputFile(str(tmp_path / "a.tar"), "a.tar")) == {"text"}
    found = read(tmp_path / "a.tar")
    assert texts(found) == ["good", "also good"]
    assert [(f.rule, f.id) for f in found.faults] == [
        ("unreadable_member", "a.tar/a.txt"), ("bad_json", "a.tar/c.jsonl#0"), ("unreadable_member", "a.tar/d.jsonl"),
    ]  # fmt: skip


def test_a_cut_archive_costs_what_is_missing(tmp_path):
    data = tar({"a.txt": b"a" * 600, "b.txt": b"b" * 5000})
    (tmp_path / "a.tar").write_bytes(data[:4000])
    found = read(tmp_path / "a.tar")
    assert (texts(found), [f.rule for f in found.faults]) == (["a" * 600], ["cut_file"])
    packed = gzip.compress(tar({f"{n}.txt": random.Random(n).randbytes(300).hex().encode() for n in range(40)}))
    (tmp_path / "b.tar.gz").write_bytes(packed[:9000])
    found = read(tmp_path / "b.tar.gz")
    assert [f.rule for f in found.faults] == ["cut_file"]
    assert texts(found) == [random.Random(n).randbytes(300).hex() for n in range(len(found.rows))]
    assert len(found.rows) > 10


def test_a_member_that_expands_beyond_bounds_is_a_fault_and_never_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.readers.archive.ALWAYS", 100_000)
    members = {"a.jsonl": bytes(90_000_000), "b.txt": b"text", "c.txt": b"long " * 1000}
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tar(members)))
    found = read(tmp_path / "a.tar.gz", limit=4000)
    assert (texts(found), [f.rule for f in found.faults]) == (["text"], ["record_too_large"] * 2)


def test_many_small_members_come_in_few_batches(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar({f"{n}.txt": b"text %d" % n for n in range(500)}))
    found = read(tmp_path / "a.tar", batch=20_000)
    assert texts(found) == [f"text {n}" for n in range(500)]
    assert 2 < len(found.batches) < 60


def test_lines_of_texts_in_an_archive_may_be_documents(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar({"a.txt": b"one\ntwo\n", "b.txt": b"three\n"}))
    assert texts(read(tmp_path / "a.tar", documents="line")) == ["one", "two", "three"]


def test_a_wrong_key_is_found_before_work_starts(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar({"a.jsonl": b'{"content": "a text of some length"}\n'}))
    with pytest.raises(InputError, match=r"a\.tar/a\.jsonl.*content"):
        provides(InputFile(str(tmp_path / "a.tar"), "a.tar"))
    assert texts(read(tmp_path / "a.tar", columns=(("text", "content"),))) == ["a text of some length"]


def test_facts_beside_the_documents_are_counted_and_no_documents(tmp_path):
    members = {
        f"{n}.{kind}": data for n in range(3) for kind, data in (("json", b'{"title": "t", "n": 1}'), ("txt", b"text"))
    }
    (tmp_path / "a.tar").write_bytes(tar(members))
    assert provides(InputFile(str(tmp_path / "a.tar"), "a.tar")) == {"text"}
    found = read(tmp_path / "a.tar")
    assert (texts(found), found.faults) == (["text"] * 3, [])
    assert dict(found.ignored) == {"not read from an archive: jsonl without a text": 3}


@pytest.mark.parametrize("members", [{}, {"a.png": b"x"}, {"README.txt": b"x"}])
def test_an_archive_without_documents_is_refused(tmp_path, members):
    (tmp_path / "a.tar").write_bytes(tar(members) if members else bytes(10240))
    with pytest.raises(InputError, match=r"a\.tar"):
        provides(InputFile(str(tmp_path / "a.tar"), "a.tar"))


def test_a_member_that_killed_a_worker_is_passed_over_and_reading_ends_where_that_does_not_help(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar({f"{n}.txt": b"text %d" % n for n in range(4)}))
    found = read(tmp_path / "a.tar", skip={1: ("killed", "by a test")})
    assert (texts(found), [f.rule for f in found.faults]) == (["text 0", "text 2", "text 3"], ["killed"])
    found = read(tmp_path / "a.tar", skip={1: ("killed", "by a test")}, stop=1)
    assert (texts(found), [f.rule for f in found.faults]) == (["text 0"], ["killed"])
