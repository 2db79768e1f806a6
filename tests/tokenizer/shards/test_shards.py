"""Token shards made of files: what they hold, in which order, and that nothing but inputs and options decides their bytes."""

import itertools
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datatrove.pipeline.tokens.tokenizer import TokenizedFile
from tokenizers import Tokenizer, models, pre_tokenizers

from pipeline.errors import InputError, UserError
from pipeline.storage import Folder
from tests.tokenizer.oracles import MIXED, english, ladder_of
from tokenizer.batches.folder import open_shards
from tokenizer.counting.counter import count_tokens
from tokenizer.ladder.files import write_ladder
from tokenizer.shards import encode, make
from tokenizer.shards.make import make_shards
from tokenizer.shards.model import open_model
from tokenizer.shards.options import ShardOptions

EOD = "<|endoftext|>"
TEXTS = [*MIXED, *(english(seed, 60 + seed) for seed in range(40))]


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    place = tmp_path_factory.mktemp("ladder")
    made = ladder_of(TEXTS, (300, 500), "cl100k", special=(EOD, "<|bos|>"))
    write_ladder(made, Folder(str(place)))
    return place, made


@pytest.fixture
def corpus(tmp_path):
    """Two files, the second as a run leaves them: with the file and offset that each document came from."""
    half = len(TEXTS) // 2
    lines = [{"id": f"a{n}", "url": f"u{n}", "text": text} for n, text in enumerate(TEXTS[:half])]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rest = TEXTS[half:]
    columns = {"id": [f"b{n}" for n in range(len(rest))], "text": rest, "language": ["xx"] * len(rest)}
    columns |= {"file": ["crawl.warc.gz"] * len(rest), "offset": list(range(0, 100 * len(rest), 100))}
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    return [str(tmp_path / "a.jsonl"), str(tmp_path / "b.parquet")]


def made(corpus, ladder, out, formats=("megatron",), workers=1, **options):
    model = open_model(str(ladder[0] / "500"))
    return make_shards(
        corpus, ShardOptions(model, **options), Folder(str(out)), formats=formats, workers=workers
    ).manifest


def read(out, manifest):
    """Return (id, tokens) of every document by the index and the table beside each payload."""
    found = []
    for part in open_shards([Folder(str(out))])[0].parts:
        rows = part.rows(np.arange(part.file.documents))
        starts = part.ends - part.lengths
        tokens = [t.tolist() for t in part.tokens(starts, part.lengths)]
        found += list(zip(rows["id"].to_pylist(), tokens, strict=True))
    assert sum(len(tokens) for _, tokens in found) == manifest.tokens
    return found


def expected(ladder, eod=()):
    tokenizer = Tokenizer.from_file(str(ladder[0] / "500/tokenizer.json"))
    ids = [f"{'a' if n < 25 else 'b'}{n % 25}" for n in range(len(TEXTS))]
    return [(name, [*tokenizer.encode(text).ids, *eod]) for name, text in zip(ids, TEXTS, strict=True)]


def files_in(folder):
    """Return the files of `folder` but ``data_path.txt``, which says where it lies."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    found.pop("data_path.txt", None)
    return found


def test_documents_are_the_ids_of_the_library_in_the_order_of_the_inputs(corpus, ladder, tmp_path):
    manifest = made(corpus, ladder, tmp_path / "out", eod=EOD)
    assert read(tmp_path / "out", manifest) == expected(ladder, eod=(0,))
    counted = int(count_tokens(TEXTS, ladder[1])[:, 1].sum())
    assert (manifest.text_tokens, manifest.tokens) == (counted, counted + len(TEXTS))
    assert (manifest.eod, manifest.dtype, manifest.vocab_size) == (0, "uint16", 500)


def test_every_document_is_traced_to_where_it_first_came_from(corpus, ladder, tmp_path):
    made(corpus, ladder, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out/part-00000.documents.parquet").to_pylist()
    assert rows[3]["url"] == "u3"
    assert rows[3]["file"].endswith("a.jsonl")
    assert {k: rows[30][k] for k in ("id", "language", "file", "offset")} == {
        "id": "b5", "language": "xx", "file": "crawl.warc.gz", "offset": 500
    }  # fmt: skip


@pytest.mark.parametrize("shuffle", [None, 7])
def test_bytes_do_not_depend_on_workers_or_on_how_much_is_held_at_once(corpus, ladder, tmp_path, monkeypatch, shuffle):
    options = {"eod": EOD, "shuffle": shuffle, "part_tokens": 2000, "held_out": 0.2}
    made(corpus, ladder, tmp_path / "one", **options)
    made(corpus, ladder, tmp_path / "two", workers=2, **options)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")
    monkeypatch.setattr(encode, "RUN_TOKENS", 300)
    made(corpus, ladder, tmp_path / "small", **options)
    names = [name for name in files_in(tmp_path / "one") if name.endswith(".bin")]
    if shuffle is not None:
        assert [(tmp_path / "small" / n).read_bytes() for n in names] == [
            (tmp_path / "one" / n).read_bytes() for n in names
        ]
    else:
        joined = [
            b"".join(
                (tmp_path / f / n).read_bytes()
                for n in sorted(files_in(tmp_path / f))
                if n.startswith("part-") and n.endswith(".bin")
            )
            for f in ("one", "small")
        ]
        assert joined[0] == joined[1]


def test_a_shuffle_keeps_every_document_and_mixes_the_inputs(corpus, ladder, tmp_path):
    manifest = made(corpus, ladder, tmp_path / "out", shuffle=1, part_tokens=2000)
    found = read(tmp_path / "out", manifest)
    assert sorted(found) == sorted(expected(ladder))
    assert [name for name, _ in found] != [name for name, _ in expected(ladder)]
    assert {name[0] for name, _ in found[:15]} == {"a", "b"}
    assert all(file.tokens <= 2000 or file.documents == 1 for file in manifest.files)
    other = made(corpus, ladder, tmp_path / "other", shuffle=2, part_tokens=2000)
    assert [name for name, _ in read(tmp_path / "other", other)] != [name for name, _ in found]


def test_held_out_documents_are_the_same_in_any_order_and_the_rest_is_all_there(corpus, ladder, tmp_path):
    straight = made(corpus, ladder, tmp_path / "a", held_out=0.3)
    shuffled = made([*corpus][::-1], ladder, tmp_path / "b", held_out=0.3, shuffle=5)
    ids = [set(pq.read_table(tmp_path / f / "held_out/part-00000.documents.parquet")["id"].to_pylist()) for f in "ab"]
    assert ids[0] == ids[1]
    assert 5 <= len(ids[0]) <= 28
    assert straight.documents + len(ids[0]) == len(TEXTS) == shuffled.documents + len(ids[1])
    assert straight.tokens + straight.held_out[0].tokens == straight.text_tokens


def test_other_trainers_get_links_to_one_payload(corpus, ladder, tmp_path):
    out = tmp_path / "out"
    made(corpus, ladder, out, formats=("datatrove", "olmo", "nanogpt", "llmc"), eod=EOD)
    payload = out / "part-00000.bin"
    for name in ("part-00000.ds", "part-00000.npy", "train.bin"):
        assert (out / name).samefile(payload)
    data = (out / "llmc/train_00000.bin").read_bytes()
    assert np.frombuffer(data[:1024], "<i4")[:3].tolist() == [20240520, 1, len(payload.read_bytes()) // 2]
    assert data[1024:] == payload.read_bytes()


def test_files_of_datatrove_are_those_of_its_own_writer(corpus, ladder, tmp_path):
    out = tmp_path / "out"
    made(corpus, ladder, out, formats=("datatrove",), eod=EOD)
    theirs = TokenizedFile(str(tmp_path / "theirs"), "part-00000.ds", tokenizer_name_or_path="tokenizer.json",
                           save_final_metadata=True)  # fmt: skip
    for _, tokens in expected(ladder, eod=(0,)):
        theirs.write(tokens, None)
    theirs.close()
    for name in ("part-00000.ds", "part-00000.ds.index", "part-00000.ds.metadata"):
        assert (out / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def test_several_payloads_become_one_train_bin(corpus, ladder, tmp_path):
    manifest = made(corpus, ladder, tmp_path / "out", formats=("nanogpt",), part_tokens=3000)
    assert len(manifest.files) > 2
    joined = b"".join((tmp_path / "out" / file.name).read_bytes() for file in manifest.files)
    assert (tmp_path / "out/train.bin").read_bytes() == joined


def test_what_stands_is_left_alone_and_a_format_more_only_adds_to_it(corpus, ladder, tmp_path):
    out = tmp_path / "out"
    made(corpus, ladder, out)
    before = (out / "part-00000.bin").stat()
    manifest = made(corpus, ladder, out, formats=("olmo",))
    assert (out / "part-00000.bin").stat().st_mtime_ns == before.st_mtime_ns
    assert manifest.formats == ["megatron", "olmo"]
    (out / "part-00000.idx").unlink()
    made(corpus, ladder, out)
    assert (out / "part-00000.idx").exists()


def test_a_process_that_is_killed_leaves_no_manifest_and_the_next_goes_on_to_the_same_bytes(corpus, ladder, tmp_path):
    made(corpus, ladder, tmp_path / "whole", eod=EOD, shuffle=3)
    program = """
import os, signal, sys
from tokenizer.shards import make
kill = make.assemble_part
def killed(task):
    os.kill(os.getpid(), signal.SIGKILL)
make.assemble_part = killed
from tests.tokenizer.shards.test_shards import made
made(sys.argv[3:], (__import__("pathlib").Path(sys.argv[1]),), sys.argv[2], eod="<|endoftext|>", shuffle=3)
"""
    command = [sys.executable, "-c", program, str(ladder[0]), str(tmp_path / "out"), *corpus]
    assert subprocess.run(command, env={**os.environ, "PYTHONPATH": os.getcwd()}).returncode == -signal.SIGKILL
    assert not (tmp_path / "out/manifest.json").exists()
    runs = sorted((tmp_path / "out").rglob("run-*.bin"))
    assert len(runs) == 2
    times = [run.stat().st_mtime_ns for run in runs]
    pieces = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make, "assemble_part", lambda task: pieces.extend(r.stat().st_mtime_ns for r in runs) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            made(corpus, ladder, tmp_path / "out", eod=EOD, shuffle=3)
    assert pieces == times  # encoded once
    made(corpus, ladder, tmp_path / "out", eod=EOD, shuffle=3)
    assert files_in(tmp_path / "out") == files_in(tmp_path / "whole")


def test_documents_without_a_token_are_left_out_and_counted(ladder, tmp_path):
    (tmp_path / "c.jsonl").write_text('{"text": ""}\n{"text": "one"}\nnot json\n{"text": "two"}\n')
    manifest = made([str(tmp_path / "c.jsonl")], ladder, tmp_path / "out", eod=EOD)
    assert (manifest.documents, manifest.empty, manifest.unreadable) == (2, 1, 1)


def test_a_tokenizer_of_others_is_encoded_as_its_library_does(tmp_path, ladder):
    theirs = json.loads((ladder[0] / "500/tokenizer.json").read_text())
    names = list(theirs["model"]["vocab"])
    theirs["model"]["vocab"] = {name: number for number, name in enumerate(reversed(names))}
    theirs["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    theirs["added_tokens"] = [{"id": 600, "content": "<|im_end|>", "special": True, "single_word": False, "lstrip": False,
                               "rstrip": False, "normalized": False}]  # fmt: skip
    (tmp_path / "gpt2like.json").write_text(json.dumps(theirs))
    model = open_model(str(tmp_path / "gpt2like.json"))
    assert (model.slow_because, model.vocab_size, model.id_of("<|im_end|>")) == ("", 601, 600)
    assert ids_by(model) == ids_by_library(tmp_path / "gpt2like.json")
    words = Tokenizer(models.WordLevel({"the": 0, "of": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "words.json"))
    slow = open_model(str(tmp_path / "words.json"))
    assert "not BPE" in slow.slow_because
    assert ids_by(slow) == ids_by_library(tmp_path / "words.json")


def ids_by(model):
    from tokenizer.texts import Texts

    ids, bounds = model.encoder()(Texts.of(TEXTS))
    return [ids[a:b].tolist() for a, b in itertools.pairwise(bounds)]


def ids_by_library(path):
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"normalizer": {"type": "NFC"}}, "normalizer"),
        ({"model": {"ignore_merges": True}}, "ignore_merges"),
        ({"added_tokens": [{"id": 500, "content": "of", "special": False, "single_word": False, "lstrip": False,
                            "rstrip": False, "normalized": False}]}, "added tokens"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
         "pretokenizer"),
    ],
)  # fmt: skip
def test_what_the_kernels_do_not_cover_is_encoded_by_the_library_and_said(tmp_path, ladder, change, why):
    theirs = json.loads((ladder[0] / "500/tokenizer.json").read_text())
    theirs["model"] |= change.pop("model", {})
    (tmp_path / "t.json").write_text(json.dumps(theirs | change))
    model = open_model(str(tmp_path / "t.json"))
    assert why in model.slow_because
    assert ids_by(model) == ids_by_library(tmp_path / "t.json")


def test_another_tokenizer_is_refused_in_a_folder_that_holds_shards(corpus, ladder, tmp_path):
    made(corpus, ladder, tmp_path / "out")
    other = ShardOptions(open_model(str(ladder[0] / "300")))
    with pytest.raises(UserError, match="another tokenizer"):
        make_shards(corpus, other, Folder(str(tmp_path / "out")), workers=1)
    with pytest.raises(UserError, match="other inputs or options"):
        made(corpus, ladder, tmp_path / "out", eod=EOD)
    make_shards(corpus, other, Folder(str(tmp_path / "out")), workers=1, replace=True)
    assert json.loads((tmp_path / "out/manifest.json").read_text())["vocab_size"] == 300


def test_a_folder_of_other_things_is_not_written_to(corpus, ladder, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/part-00000.bin").write_bytes(b"mine")
    with pytest.raises(UserError, match="not empty"):
        made(corpus, ladder, tmp_path / "out")


@pytest.mark.parametrize(
    ("ending", "said"), [(".bin", "is missing"), (".idx", "is missing"), (".documents.parquet", "is missing")]
)
def test_a_missing_part_is_named(corpus, ladder, tmp_path, ending, said):
    made(corpus, ladder, tmp_path / "out")
    (tmp_path / f"out/part-00000{ending}").unlink()
    with pytest.raises(InputError, match=rf"part-00000{ending} {said}"):
        open_shards([Folder(str(tmp_path / "out"))])


def test_a_part_that_is_cut_off_is_named(corpus, ladder, tmp_path):
    made(corpus, ladder, tmp_path / "out")
    path = tmp_path / "out/part-00000.bin"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="bytes and not the"):
        open_shards([Folder(str(tmp_path / "out"))])


def test_shards_of_two_tokenizers_are_not_read_together(corpus, ladder, tmp_path):
    made(corpus, ladder, tmp_path / "a")
    make_shards(corpus, ShardOptions(open_model(str(ladder[0] / "300"))), Folder(str(tmp_path / "b")), workers=1)
    with pytest.raises(UserError, match="another tokenizer"):
        open_shards([Folder(str(tmp_path / "a")), Folder(str(tmp_path / "b"))])


def large(tmp_path, tokens):
    content = json.loads(Tokenizer(models.BPE()).to_str())
    content["model"]["vocab"] = {f"t{n}": n for n in range(tokens)}
    (tmp_path / f"{tokens}.json").write_text(json.dumps(content))
    return open_model(str(tmp_path / f"{tokens}.json"))


def test_the_type_of_tokens_follows_the_vocabulary_and_one_that_is_too_small_is_refused(tmp_path):
    from tokenizer.shards.options import check_formats

    assert ShardOptions(large(tmp_path, 65_499)).dtype == "uint16"
    assert ShardOptions(large(tmp_path, 65_500)).dtype == "int32"
    assert ShardOptions(large(tmp_path, 65_536), dtype="uint16").dtype == "uint16"
    with pytest.raises(UserError, match="65,537 tokens do not fit into uint16"):
        ShardOptions(large(tmp_path, 65_537), dtype="uint16")
    with pytest.raises(UserError, match="holds uint16 only"):
        check_formats(("nanogpt",), ShardOptions(large(tmp_path, 65_537)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"eod": "<|endoftxt|>"}, r"did you mean <\|endoftext\|>"),
        ({"held_out": 1.5}, "no share"),
        ({"part_tokens": 0}, "at least 1"),
    ],
)
def test_options_that_cannot_work_are_named(corpus, ladder, tmp_path, options, said):
    with pytest.raises(UserError, match=said):
        made(corpus, ladder, tmp_path / "out", **options)


@pytest.mark.parametrize(
    ("path", "said"),
    [("400", "its sizes are 300, 500"), ("", "its sizes are 300, 500"), ("500/merges.txt", "no tokenizer.json")],
)
def test_a_tokenizer_that_is_not_there_is_named(ladder, path, said):
    with pytest.raises(InputError, match=said):
        open_model(str(ladder[0] / path))
