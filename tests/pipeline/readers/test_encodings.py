"""Decoding by the Encoding Standard, held against a browser's decoder where one is installed."""

from __future__ import annotations

import base64
import json
import pathlib
import random
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers import labels
from pipeline.readers.encodings import decode, decode_counting
from pipeline.readers.labels import encoding_of

DENO = shutil.which("deno", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("deno")
needs_oracle = pytest.mark.skipif(DENO is None, reason="deno is not installed")
BEYOND = ("hz-gb-2312", "iso-2022-kr", "replacement")
"""What the standard turns away, or gives no decoder to a script for."""
PROGRAM = """
const asked = JSON.parse(await new Response(Deno.stdin.readable).text());
const answers = asked.map(([label, data]) => {
  const raw = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  try {
    const decoder = new TextDecoder(label, { ignoreBOM: true });
    return [decoder.encoding, decoder.decode(raw)];
  } catch { return [null, null]; }
});
console.log(JSON.stringify(answers));
"""


def browser(asked: list[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Return encoding and text of each (label, bytes), from Deno's TextDecoder, which is Firefox's decoder."""
    lines = json.dumps([[label, base64.b64encode(raw).decode()] for label, raw in asked]).encode()
    done = subprocess.run([DENO, "eval", PROGRAM], input=lines, capture_output=True, check=True, timeout=300)
    return [tuple(answer) for answer in json.loads(done.stdout)]


def differing(asked: list[tuple[str, bytes]]) -> list[tuple[str, bytes, str, str]]:
    answers = [text for _, text in browser(asked)]
    ours = [decode(raw, encoding_of(label) or "") for label, raw in asked]
    return [(*question, a, b) for question, a, b in zip(asked, ours, answers, strict=True) if a != b]


@needs_oracle
def test_every_label_means_what_a_browser_takes_it_for():
    known = [label for label in labels._NAMES if encoding_of(label) not in BEYOND]
    assert len(known) == 222
    assert [label for label, (name, _) in zip(known, browser([(k, b"") for k in known]), strict=True)
            if name != encoding_of(label)] == []  # fmt: skip


@needs_oracle
def test_every_entry_of_every_index_is_as_a_browser_has_it():
    def pairs(leads: range, trails: range, before: bytes = b"") -> list[bytes]:
        return [b"".join(before + bytes([lead, trail]) + b"\n" for trail in trails) for lead in leads]

    asked = [(name, bytes(range(256))) for name in labels._LABELS if name not in (*labels.MULTIBYTE, *BEYOND)]
    for name in ("gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr"):
        asked += [(name, raw) for raw in pairs(range(0x80, 0x100), range(0x30, 0x100))]
    asked += [("euc-jp", raw) for raw in pairs(range(0xA1, 0xFF), range(0xA1, 0xFF), b"\x8f")]
    asked += [
        ("iso-2022-jp", b"\x1b$B" + raw.replace(b"\n", b"")) for raw in pairs(range(0x21, 0x7F), range(0x21, 0x7F))
    ]
    asked += [("iso-2022-jp", b"\x1b(I" + bytes(range(128))), ("iso-2022-jp", b"\x1b(J" + bytes(range(128)))]
    for first in (0x81, 0x82, 0x83, 0x84, 0x85, 0x90, 0x9A, 0xE3, 0xE4, 0xFE):
        for second in range(0x30, 0x3A):
            fours = (bytes([first, second, third, fourth]) + b"\n"
                     for third in range(0x81, 0xFF) for fourth in range(0x30, 0x3A))  # fmt: skip
            asked.append(("gb18030", b"".join(fours)))
    assert differing(asked) == []


PIECES = [bytes([n]) for n in range(256)] + [
    *(b"\x1b$B", b"\x1b(B", b"\x1b(J", b"\x1b(I", b"\x1b$@", b"\x1b$", b"\x1b(", b"\x1b"),
    *(b"\x81\x30\x81\x30", b"\x81\x30\x81", b"\x81\x30", b"\x84\x31\xa4\x37", b"\x8f\xa1", b"\x8f", b"\x8e"),
    *(b"<", b'"', b"\n", b"a", b"\xd8\x00", b"\x00\xd8", b"\xdc\x00", b"\xf0\x9f\x98", b"\xe3\x81", b"\xf0\x80"),
]


@needs_oracle
def test_of_hostile_bytes_exactly_as_much_is_lost_as_a_browser_loses():
    dice, asked = random.Random(20), []
    for name in labels._LABELS:
        if name not in BEYOND:
            for number in range(250):
                pieces = PIECES if number % 2 else PIECES[256:] + PIECES[128:256:7]
                asked.append((name, b"".join(dice.choice(pieces) for _ in range(dice.randrange(1, 40)))))
    assert differing(asked) == []


@pytest.mark.parametrize(
    ("encoding", "raw", "text"),
    [
        ("euc-jp", b"\xad\xea\xad\xa1", "㈱①"),
        ("euc-jp", b"\xa4<p>", "\ufffd<p>"),
        ("euc-jp", b"\x8f\xa2\xaf\x8e\xb1", "˘ｱ"),
        ("euc-jp", b"\x8e\xff\xa4\xa2", "\ufffdあ"),
        ("iso-2022-jp", b"\x1b$B-j\x1b(B.", "㈱."),
        ("iso-2022-jp", b"\x1b(I1\x1b(J\\", "ｱ¥"),
        ("iso-2022-jp", b"\x1b$B$\x1b(B<", "\ufffd<"),
        ("iso-2022-jp", b"\x1b$Z\x1b(B\x1b(Ba", "\ufffd$Z\ufffda"),
        ("shift_jis", b"\x87\x8a\xf0\x40\x81<", "㈱\ue000\ufffd<"),
        ("shift_jis", b"\x81\xff\x80\xa0", "\ufffd\x80\ufffd"),
        ("gbk", b"\x80 \xa2\xe3", "€ €"),
        ("gb18030", b"\x81\x30\x81\x30\x90\x30\x81\x30", "\x80\U00010000"),
        ("gb18030", b"\x81\x30\x81a\x81\x30\x81", "\ufffd0乤\ufffd"),
        ("gb18030", b"\xff\x84\x32\x81\x30", "\ufffd\ufffd"),
        ("big5", b"\xa3\xe1\x88\x62\x87\x40", "€Ê̄䏰"),
        ("big5", b"\xa1<\xff", "\ufffd<\ufffd"),
        ("euc-kr", b"\x81\x41\xc7\x41\xb0\xa1", "갂\ufffdA가"),
        ("windows-1253", b"\xaa\x81", "\ufffd\x81"),
        ("windows-1255", b"\xca", "ֺ"),
        ("koi8-u", b"\xae\xbe", "ўЎ"),
        ("x-mac-cyrillic", b"\xa2\xb6", "Ґґ"),
        ("x-user-defined", b"a\x80\xff", "a\uf780\uf7ff"),
        ("replacement", b"anything", "\ufffd"),
        ("replacement", b"", ""),
        ("utf-8", b"\xe3\x81<\xff\xf0\x9f", "\ufffd<\ufffd\ufffd"),
        ("utf-16le", b"\x00\xd8a\x00b", "\ufffda\ufffd"),
        ("ibm855", b"\xa0", "а"),
    ],
)  # fmt: skip
def test_a_bad_byte_takes_with_it_what_the_standard_says(encoding, raw, text):
    assert decode(raw, encoding) == text


CJK = {
    "shift_jis": ("cp932", "一-龥ぁ-んァ-ヶ"),
    "euc-kr": ("cp949", "가-힣"),
    "gbk": ("gbk", "一-龥ぁ-ん"),
    "gb18030": ("gb18030", "一-龥가-힣א-ת𠀀-𠀿"),
    "big5": ("big5", "一-龥"),
    "euc-jp": ("euc_jp", "一-龥ぁ-ん"),
    "iso-2022-jp": ("iso2022_jp", "一-龥ぁ-んa-z"),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_an_encoder_writes_is_read_back(data):
    encoding = data.draw(st.sampled_from(sorted(CJK)))
    codec, ranges = CJK[encoding]
    spans = [st.characters(min_codepoint=ord(r[0]), max_codepoint=ord(r[2])) for r in map(list, _threes(ranges))]
    text = data.draw(st.text(st.one_of(*spans, st.sampled_from("<p> \n\"'")))).encode(codec, "ignore").decode(codec)
    assert decode_counting(text.encode(codec), encoding) == (text, 0)


def _threes(ranges: str) -> list[str]:
    return [ranges[at : at + 3] for at in range(0, len(ranges), 3)]


@pytest.mark.parametrize("encoding", sorted({*labels._LABELS, "ibm855", "utf-32le"}))
def test_what_could_not_be_decoded_is_counted_and_what_was_a_replacement_before_is_not(encoding):
    text, bad = decode_counting(b"", encoding)
    assert (text, bad) == ("", 0)
    text, bad = decode_counting(bytes(range(0x80, 0x100)) + b"<", encoding)
    assert 0 <= bad <= text.count("\ufffd") <= 129


def test_a_replacement_character_that_the_page_itself_holds_is_no_damage():
    assert decode_counting("a\ufffdb".encode() + b"\xff", "utf-8") == ("a\ufffdb\ufffd", 1)
    assert decode_counting(b"\x84\x31\xa4\x37\xff", "gb18030") == ("\ufffd\ufffd", 1)
