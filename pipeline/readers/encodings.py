"""Bytes to text by the Encoding Standard: every index entry, and after a bad byte exactly what a browser loses.

Single-byte encodings go through Python's charmap decoder with the standard's tables, UTF-8 and UTF-16 through its own
decoders, which do as the standard says; the multi-byte ones through `multibyte`. Python's codecs of the same names are
not used: they lack rows (NEC row 13, the euro sign) and lose other bytes.
"""

from __future__ import annotations

import codecs
import pathlib
from functools import cache
from typing import Any

import numpy as np

from pipeline.readers.labels import MULTIBYTE, UTF16

REPLACEMENT = "\ufffd"
_INDEXES = pathlib.Path(__file__).with_name("encoding_indexes.npz")  # made by benchmarks/encoding_indexes.py
_PYTHON = {"utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "iso-2022-kr": "iso2022_kr", "hz-gb-2312": "hz"}
_UTF = ("utf-8", "utf-32le", "utf-32be", *UTF16)


def decode(raw: bytes, encoding: str) -> str:
    """Return `raw` as text. What cannot be decoded becomes U+FFFD; nothing fails.

    Args:
        encoding: as `labels.encoding_of` names it; ``ibm855`` and its like and ``utf-32le``, ``utf-32be`` too.
    """
    return decode_counting(raw, encoding)[0]


def decode_counting(raw: bytes, encoding: str) -> tuple[str, int]:
    """Return `raw` as text, and how many U+FFFD in it stand for bytes that could not be decoded."""
    if encoding == "utf-8":
        text = raw.decode("utf-8", "replace")
        bad = text.count(REPLACEMENT)
        return text, bad and bad - raw.count(b"\xef\xbf\xbd")
    if encoding in MULTIBYTE and encoding not in _PYTHON:
        return _decode_multibyte(raw, encoding)
    if encoding == "replacement":
        return (REPLACEMENT, 1) if raw else ("", 0)
    table = None if encoding in _PYTHON else _table(encoding)
    if table is not None:
        text = codecs.charmap_decode(raw, "strict", table)[0]
    else:
        text = raw.decode(_PYTHON.get(encoding, encoding.replace("utf-32", "utf-32-")), "replace")
    return text, text.count(REPLACEMENT)


def _decode_multibyte(raw: bytes, encoding: str) -> tuple[str, int]:
    kernel, tables = _kernel(encoding)
    room = np.empty(len(raw) + 1, np.uint32)
    length, bad = kernel(np.frombuffer(raw, np.uint8), *tables, room)
    return room[:length].tobytes().decode("utf-32-le" if np.little_endian else "utf-32-be"), int(bad)


@cache
def _kernel(encoding: str) -> tuple[Any, tuple[np.ndarray, ...]]:
    """Return the kernel that decodes `encoding` and the indexes it takes; compiled code is loaded when it is needed."""
    from pipeline.readers.multibyte import big5, euc_jp, euc_kr, gb18030, iso_2022_jp, shift_jis

    kernel, names = {
        "gbk": (gb18030, ("gb18030", "gb18030-ranges")),
        "gb18030": (gb18030, ("gb18030", "gb18030-ranges")),
        "big5": (big5, ("big5",)),
        "euc-jp": (euc_jp, ("jis0208", "jis0212")),
        "iso-2022-jp": (iso_2022_jp, ("jis0208",)),
        "shift_jis": (shift_jis, ("jis0208",)),
        "euc-kr": (euc_kr, ("euc-kr",)),
    }[encoding]
    return kernel, tuple(_indexes()[name] for name in names)


@cache
def _indexes() -> dict[str, np.ndarray]:
    with np.load(_INDEXES) as file:
        return {name: file[name] for name in file.files}


@cache
def _table(encoding: str) -> str | None:
    """Return the character of each of the 256 bytes in a single-byte encoding; None for one that is none."""
    if encoding in _UTF:
        return None
    ascii = "".join(map(chr, range(128)))
    if encoding == "x-user-defined":
        return ascii + "".join(chr(0xF780 + byte) for byte in range(128))
    names = _indexes()["single-byte-names"].tolist()
    name = encoding.removesuffix("-i")
    if name in names:
        return ascii + "".join(chr(point or 0xFFFD) for point in _indexes()["single-byte"][names.index(name)].tolist())
    return bytes(range(256)).decode(encoding.replace("ibm", "cp"), "replace")
