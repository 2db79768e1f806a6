"""Files that nobody here wrote, against what other readers make of them."""

import csv
import gzip
import io
import pathlib
import re
import tarfile

import pytest
import zstandard

from pipeline.readers import records
from pipeline.readers.charset import decode_page, meta_encoding
from pipeline.readers.encodings import decode
from pipeline.readers.labels import encoding_of
from pipeline.readers.pages import page_kind
from tests.pipeline.readers.made import REAL, http, needs_real, read, warc_record

pytestmark = [needs_real, pytest.mark.real]
SUFFIXED = re.compile(r"-(polish|greek|russian|hungarian|croatian|slovene|romanian|turkish|czech|arabic)$")


def odd_files() -> list[dict[str, str]]:
    path = REAL / "warc/PEERS.tsv"
    return list(csv.DictReader(path.open(), delimiter="\t")) if path.exists() else []


def pages(archive: pathlib.Path) -> dict[str, bytes]:
    raw = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(archive.open("rb")).read()
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        files = [member for member in tar if member.isfile()]
        return {member.name: tar.extractfile(member).read() for member in files}  # type: ignore[union-attr]


def records_met(found) -> int:
    """Documents, faults that name a record, and records that were no documents."""
    return len(found.rows) + sum(found.ignored.values()) + sum(f.rule != "damaged_region" for f in found.faults)


@pytest.mark.parametrize("peer", odd_files(), ids=lambda row: row["file"])
def test_at_least_as_many_records_are_met_as_by_the_better_peer(peer):
    best = max(int(re.match(r"\d+", peer[name])[0]) for name in ("warcio", "fastwarc"))  # type: ignore[index]
    assert records_met(read(REAL / "warc" / peer["file"])) >= best


@pytest.mark.parametrize("peer", odd_files(), ids=lambda row: row["file"])
def test_every_way_to_split_an_odd_file_gives_the_same(peer, monkeypatch):
    path = REAL / "warc" / peer["file"]
    monkeypatch.setattr(records, "LEAD", 30_000)
    whole = read(path)
    parts = read(path, split=max(1000, path.stat().st_size // 7))
    assert (parts.facts(), parts.ignored) == (whole.facts(), whole.ignored)


@pytest.mark.parametrize(
    ("file", "pages", "faults"),
    [
        ("aut/example.warc.gz", 94, []),
        ("aut/example.arc.gz", 94, []),
        ("dolma/sample-0000.warc.gz", 22, []),
        ("fastwarc/warcfile.warc.lz4", 16, []),
        ("fastwarc/clueweb-quirk.warc.gz", 29, []),
        ("fastwarc/clipped.warc.gz", 0, ["cut_file"]),
        ("warcio/example-iana.org-chunked.warc", 1, []),
        ("warcio/example-trunc.warc", 1, ["damaged_region"]),
        ("commoncrawl-whirlwind/whirlwind.warc.wet.gz", 1, []),
    ],
)
def test_odd_files_give_their_pages(file, pages, faults):
    found = read(REAL / "warc" / file)
    assert (len(found.rows), [fault.rule for fault in found.faults]) == (pages, faults)


def test_no_real_page_is_taken_for_something_else():
    found = {
        n: raw for n, raw in pages(REAL / "extract-trafilatura/pages.tar.zst").items() if n.endswith((".html", ".htm"))
    }
    assert len(found) > 1000
    assert [name for name, raw in found.items() if page_kind(raw, None) is None] == []


def test_real_pages_come_back_byte_for_byte(tmp_path):
    found = sorted(pages(REAL / "extract-trafilatura/pages.tar.zst").items())[:60]
    bodies = [raw for name, raw in found if name.endswith(".html")]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(gzip.compress(warc_record("response", http(b)), compresslevel=1) for b in bodies))
    assert [row["raw"] for row in read(path, split=300_000).rows] == bodies


def test_charsets_of_real_pages_are_found():
    """98 of 100 decode as their label says; with every declaration taken out, still 97."""
    found = pages(REAL / "encodings/chardet-pages.tar.zst")
    right = {True: 0, False: 0}
    for name, raw in found.items():
        label = SUFFIXED.sub("", pathlib.PurePath(name).parent.name)
        codec = encoding_of(label)
        wanted = (decode(raw, codec) if codec else raw.decode(label, "replace")).lstrip("\ufeff")
        bare = re.sub(rb"(?i)charset\s*=|encoding=", b"", raw)
        bare_wanted = (decode(bare, codec) if codec else bare.decode(label, "replace")).lstrip("\ufeff")
        right[True] += decode_page(raw, None).text.lstrip("\ufeff") == wanted
        right[False] += decode_page(bare, None).text.lstrip("\ufeff") == bare_wanted
    assert len(found) > 200
    assert right[True] >= 0.98 * len(found)
    assert right[False] >= 0.97 * len(found)


def test_the_prescan_agrees_with_the_html5lib_cases():
    """All but those of a byte order mark, which comes before the prescan, and of a meta that a script writes."""
    wrong = []
    for file in sorted((REAL / "html5lib-encoding").glob("*.dat")):
        for case in re.split(rb"(?m)^#data\n", file.read_bytes())[1:]:
            data, _, encoding = case.partition(b"\n#encoding\n")
            wanted = encoding_of(encoding.split(b"\n")[0].strip().decode())
            if not data.startswith(b"\xef\xbb\xbf") and (meta_encoding(data) or "windows-1252") != wanted:
                wrong.append(data)
    assert len(wrong) <= 1
    assert all(b"document.write" in data for data in wrong)


@pytest.mark.parametrize("name", ["cc_en_head-0091.jsonl.gz", "dj_stackexchange.jsonl", "dolma_deduper_000.json.gz"])
def test_documents_of_others_are_read(name):
    path = REAL / "docs-jsonl" / name
    data = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    found = read(path)
    assert (len(found.rows), found.faults) == (sum(bool(line.strip()) for line in data.split(b"\n")), [])


def test_odd_parquet_files_are_read_or_refused_with_a_reason():
    columns = {"delta_length_byte_array.parquet": "FRUIT", "rle-dict-snappy-checksum.parquet": "binary_field",
               "delta_byte_array.parquet": "c_customer_id", "nation.dict-malformed.parquet": "name",
               "hadoop_lz4_compressed.parquet": "c1", "binary_truncated_min_max.parquet": "utf8_full_truncation"}  # fmt: skip
    for name, column in columns.items():
        found = read(REAL / "parquet-odd" / name, columns=(("text", column),))
        assert found.rows
        assert not found.faults
