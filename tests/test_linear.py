"""The time of every stage and reader grows with the length of a text, however the text is made.

Each pattern is repeated to a length and to four times that: what is linear takes four times as long, what is quadratic
sixteen times. Only CPU time counts, the least of several runs, and only where it is long enough to be told.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import pathlib
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch
from pipeline.readers.http import BadCoding, decode_body, parse_response
from pipeline.recipe import stage_from
from pipeline.registry import stage_class, stage_names
from tests.pipeline.readers.made import read

SHORT, LONGER = 12_500, 4
MOST = 9
"""Between 4, linear, and 16, quadratic."""
LEAST_SECONDS = 0.03
"""Below this a time says nothing."""

TEXTS = [
    ". ", "x\n", ":) ", ": ) ", "- ", "a", "a ", " ", "\n", "\t", "\r\n", "\u2028", "\u00a0", "ab-", "a-b ", "'", "can't",
    "n't ", '"', "(", "((a", "[1]", "http://a.b/", "www.", "a@b.", "…", "...", "1", "1,", "1/2 ", "%", "&amp;", "<", "é",
    "e\u0301", "\u0301\u0327", "\u0327\u0301\u0323", "汉", "汉。", "กา", "\u0e34\u0e38", "\u1112\u1161\u11ab", "か\u3099",
    "🙂", "👩\u200d", "\u200b", "\ufeff", "\ufffd", "\x00", "{", "lorem ipsum ", "terms of use ", "javascript\n", "ﷺ", "İ",
    "\u05b0\u05bc\u05c1", "\u0f71\u0f74", "the of and\n", "• ", "ab\ncd ",
]  # fmt: skip
PAGES = [
    "<div>", "<p>a", "<b>", "<a href=x>y</a>", "<!--", "&", "&#", "<script>", "<table><tr><td>", "<![CDATA[", "<br>",
    "<li>a", "<span>a</span>", "<a ", "<div id=a>", "<select>", "<svg>", "<form>", "<h1>a</h1>", "<p>some words here.</p>",
    "</div>", "<font>", "<ul><li>", "<pre>", "a\n", "a. ",
]  # fmt: skip
LEFT_OUT = ("python", "token_counts", "fasttext_quality", "fasttext_top", "url_filter")
"""A user's own function; what takes the ladder, whose kernels `train_tokenizers` runs; what wants a trained model, whose
words `language` splits too; and what reads no text."""


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return how many times longer `work` takes on `LONGER` times the size; 0 where it takes next to nothing."""
    ratio = 0.0
    for _ in range(4):  # a machine with other work may mislead once, and a second look never makes a quadratic linear
        long = seconds(work(LONGER * size))
        if long < LEAST_SECONDS:
            return 0.0
        ratio = long / max(min(seconds(work(size)) for _ in range(2)), LEAST_SECONDS / 16)
        if ratio <= MOST:
            break
    return ratio


def document(text: str, *, page: bool) -> Batch:
    large = pa.large_string()
    columns = {"id": pa.array(["d"], large), "url": pa.array(["http://example.org/"], large)}
    columns |= {"source": pa.array(["web"], large), "text": pa.array([None if page else text], large)}
    if page:
        columns["raw"] = pa.array([text.encode()], pa.large_binary())
        columns["content_type"] = pa.array(["text/html; charset=utf-8"], large)
    return Batch(pa.RecordBatch.from_pydict(columns), numbers=np.arange(1))


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    evals = tmp_path_factory.mktemp("linear") / "eval.jsonl"
    question = "The old mill by the river has ground wheat since the spring of the year in which the bridge was built."
    evals.write_text(json.dumps({"question": question, "answer": "It is the miller who weighs every sack of grain."}))
    return {
        "decontaminate": {"evals": [str(evals)]},
        "bad_words": {"words": ["nasty", "word"]},
        "mix": {"weights": {"web": 1.0}},
        "train_tokenizers": {"vocab_sizes": [300, 400]},
    }


def applied(name: str, parameters: dict) -> Callable[[Batch], object]:
    stage = stage_from(stage_class(name), parameters.get(name, {}), pathlib.Path("/"), name)
    stage.load()
    return stage.observe if isinstance(stage, CorpusStage) else stage.apply


@pytest.mark.parametrize("name", [name for name in stage_names() if name not in LEFT_OUT])
def test_the_time_of_a_stage_grows_with_the_length_of_a_text(name, parameters):
    page = name == "extract"
    run = applied(name, parameters)
    run(document("<p>A page of a few words.</p>" if page else "A text of a few words. And some more.", page=page))
    slow = {}
    for pattern in PAGES if page else TEXTS:
        per = len(pattern.encode())
        ratio = growth(
            lambda size, unit=pattern, per=per: lambda: run(document(unit * (size // per), page=page)), SHORT
        )
        if ratio > MOST:
            slow[pattern] = ratio
    assert slow == {}


HEADS = {
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n",
    "folded lines": b"HTTP/1.1 200 OK\r\nA: b\r\n c",
    "status lines": b"HTTP/1.1 200 OK\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
    "empty members": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"", mtime=0),
}


@pytest.mark.parametrize("name", HEADS)
def test_the_time_of_an_http_answer_grows_with_its_length(name):
    begin, at, unit = HEADS[name].rpartition(b"\r\n\r\n" if b"\r\n\r\n" in HEADS[name][:-4] else b"\r\n")
    if not unit or name in ("status lines", "interim answers"):
        begin, at, unit = b"", b"", HEADS[name]

    def answer(payload: bytes) -> None:
        with contextlib.suppress(BadCoding):
            decode_body(parse_response(payload), 1 << 24)

    def work(size: int) -> Callable[[], object]:
        payload = begin + at + unit * (size // len(unit))
        return lambda: answer(payload)

    assert growth(work, 20 * SHORT) <= MOST


FILES = {
    "a.warc.gz": [
        b"\x1f\x8b\x08", b"\x1f\x8b\x08\x08aaa", gzip.compress(b"", mtime=0), gzip.compress(b"WARC/1.0\r\n", mtime=0),
        gzip.compress(b"WARC/1.0", mtime=0), b"\x1f\x8b",
    ],
    "a.warc": [
        b"WARC/1.0\r\n", b"WARC/1.0\r\n\r\n", b"WARC/1.0\r\nContent-Length: 5\r\n\r\n", b"\r\n", b"a: b\r\n c\r\n",
        b"WARC/1.0\r\nContent-Length: 999999999\r\n\r\n",
    ],
    "a.warc.zst": [b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\x00\x58", b"\x50\x2a\x4d\x18\x00\x00\x00\x00"],
    "a.warc.lz4": [b"\x04\x22\x4d\x18", b"\x04\x22\x4d\x18\x60\x40\x82"],
    "a.arc": [b"http://a 1.1.1.1 20240506070809 text/html 5\n", b"a: 12345678901234", b"http://a\n"],
    "a.jsonl": [b"{}\n", b"\n", b"{", b'{"text": "a"}\n', b"[", b'"'],
    "a.jsonl.gz": [b"\x1f\x8b\x08", gzip.compress(b"{}\n", mtime=0), gzip.compress(b"", mtime=0)],
}  # fmt: skip
STARTS = {
    "warc": b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
    "arc": b"filedesc://a 0.0.0.0 20240506070809 text/plain 0\n\n",
    "jsonl": b'{"text": "a"}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_the_time_of_a_file_grows_with_its_length(tmp_path, name):
    kind, _, packing = name.removeprefix("a.").partition(".")
    start = gzip.compress(STARTS[kind], mtime=0) if packing == "gz" else b"" if packing else STARTS[kind]

    def work(size: int) -> Callable[[], object]:
        path = tmp_path / name
        path.write_bytes(start + unit * (size // len(unit)))
        return lambda: read(path)

    slow = {}
    for unit in FILES[name]:
        ratio = growth(work, 2 * SHORT)
        if ratio > MOST:
            slow[unit] = ratio
    assert slow == {}
