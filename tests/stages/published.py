"""What several test files share: texts to judge, real ones and made ones, and datatrove's filters as the oracle."""

import functools
import gzip
import io
import json
import os
import pathlib

import zstandard
from datatrove.data import Document as PublishedDocument
from hypothesis import strategies as st

from pipeline.documents import Document
from pipeline.stage import Drop

DATA = pathlib.Path(
    os.environ.get("TOKENMILL_REAL_DATA") or pathlib.Path(__file__).resolve().parents[2] / "../shared/data"
)

ODD = [
    "don't", "can't", "gonna", "cannot", "e.g.", "Mr.", "U.S.", "p.m.", "10a.m.", "it's", "C++", "#tag", "##", "...",
    "…", "•", "-", "--", "—", ":)", ":-(", "):", "x:)", "-:", "''", "(*_*)", "(see", "http://a.b/c?d=e", "a@b.org",
    "3.14", "1,000", "10km", "$5", "50%", "Wörter", "слово.", "你好。", "สวัสดี", "שלום", "👩‍👧", "é", "\u200c", "\ufffd",
    "\x00", "\x85", "\u2028", "\x1c", "[1]", "[edit]", "[citation needed]", "javascript", "{", "lorem ipsum",
    "privacy policy", "the", "be", "to", "of", "and", "that", "have", "with", "The end.", "Is it?", "Yes!", '"Quoted."',
]  # fmt: skip
SEPARATORS = [" ", " ", " ", "  ", "\n", "\n\n", "\n\n\n", "\t", "\r\n", "\u00a0", ". ", "", "\u3000"]

words = st.one_of(st.sampled_from(ODD), st.sampled_from(ODD), st.text(max_size=6), st.text("ab .-'\n", max_size=8))
texts = st.lists(st.tuples(words, st.sampled_from(SEPARATORS)), max_size=60).map(
    lambda parts: "".join(a + b for a, b in parts)
)
"""Texts that tread on the edges of rules."""

_FEW = ("the", "of", "and", "have", "cat", "dog", "runs", "42", "#", "...", "new", "day")
_sentence = st.lists(st.sampled_from(_FEW), min_size=1, max_size=9)
prose = st.lists(
    st.tuples(_sentence.map(" ".join), st.sampled_from([". ", ".\n", "\n", "!\n\n", "...\n", ".\n- ", ".\n• "])),
    min_size=1,
    max_size=40,
).map(lambda parts: "".join(a + b for a, b in parts))
"""Longer texts of few words, so that n-grams, lines and paragraphs repeat."""


@functools.cache
def real_documents() -> list[str]:
    """Return the texts of quality-dclm and docs-jsonl; empty where the folder is absent."""
    files = [f for folder in ("quality-dclm", "docs-jsonl") for f in sorted((DATA / folder).rglob("*json*"))]
    found = []
    for file in files:
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.decompress(data)
        if file.suffix == ".zst":
            data = zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(io.BytesIO(data)).read()
        for line in data.decode("utf-8", "replace").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and isinstance(row.get("text"), str):
                found.append(row["text"])
    return [text for text in dict.fromkeys(found) if len(text) < 100_000]


def verdict(stage, text: str) -> tuple[str | None, str]:
    """Return the rule that `stage` drops `text` by (None: kept), and the text as it is left."""
    answer = stage.judge(Document(text))
    if isinstance(answer, Drop):
        assert answer.value is not None or answer.detail
        return answer.rule, text
    return None, text if answer is None or answer.text is None else answer.text


def published_verdict(filter_, text: str) -> tuple[str | None, str]:
    """Return the same of one of datatrove's filters; its division by zero counts as rule ``empty``."""
    document = PublishedDocument(text=text, id="0")
    try:
        answer = filter_.filter(document)
    except ZeroDivisionError:
        return "empty", text
    return (None, document.text) if answer is True else (answer[1], text)
