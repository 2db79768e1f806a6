"""The files beside a payload of tokens that the libraries of others read.

One payload serves all: tokens one behind the other, little-endian, without a header. It is Megatron's ``.bin``, datatrove's
``.ds``, OLMo-core's ``.npy`` (no NumPy file despite its name) and nanoGPT's ``.bin``.
"""

from __future__ import annotations

import struct

import numpy as np

from pipeline.errors import InputError
from pipeline.storage import Folder

MAGIC = b"MMIDIDX\x00\x00"
CODES = {"int32": 4, "uint16": 8}
LLMC_MAGIC = 20240520


def megatron_index(lengths: np.ndarray, dtype: str) -> bytes:
    """Return the content of a Megatron ``.idx``, version 1, a sequence a document.

    Magic, version (u64), code of the type (u8), sequences (u64), documents + 1 (u64), tokens of each sequence (i32), the
    byte where each begins (i64), and the sequence that each document begins with (i64): ``_IndexWriter`` of megatron-core.

    Args:
        lengths: tokens of each document.
    """
    sizes = np.asarray(lengths, "<i4")
    begins = np.zeros(len(sizes), "<i8")
    np.cumsum(sizes[:-1], out=begins[1:], dtype=np.int64)
    begins *= np.dtype(dtype).itemsize
    head = MAGIC + struct.pack("<QBQQ", 1, CODES[dtype], len(sizes), len(sizes) + 1)
    return head + sizes.tobytes() + begins.tobytes() + np.arange(len(sizes) + 1, dtype="<i8").tobytes()


def read_megatron_index(folder: Folder, name: str) -> tuple[str, np.ndarray]:
    """Return type and tokens of each sequence (int32) of Megatron index `name`. Raises InputError where it is none."""
    head = folder.get_range(name, 0, 34)
    if len(head) < 34 or head[:9] != MAGIC:
        raise InputError(f"{folder.url}/{name} is no Megatron index; make the token shards again")
    _, code, sequences, _ = struct.unpack("<QBQQ", head[9:])
    data = folder.get_range(name, 34, 4 * sequences)
    names = {number: dtype for dtype, number in CODES.items()}
    if code not in names or len(data) < 4 * sequences:
        raise InputError(f"{folder.url}/{name} is cut off, or of a type that is not read here; make the shards again")
    return names[code], np.frombuffer(data, "<i4")


def datatrove_index(lengths: np.ndarray) -> bytes:
    """Return the content of a datatrove ``.ds.index``: where each document ends, in tokens (u64)."""
    return np.cumsum(lengths, dtype="<u8").tobytes()


def datatrove_metadata(tokenizer: str, tokens: int, dtype: str) -> bytes:
    """Return the content of a datatrove ``.ds.metadata``: tokenizer, bytes of a token, tokens, and those for people."""
    thousands = min((len(str(tokens)) - 1) // 3, 4)
    digits = 3 - len(str(tokens // 1000**thousands))
    shown = f"{tokens / 1000**thousands:.{max(0, digits)}f} {['', 'k', 'M', 'G', 'T'][thousands]}T"
    return f"{tokenizer}|{np.dtype(dtype).itemsize}\n{tokens}\n{shown}".encode()


def llmc_header(tokens: int) -> bytes:
    """Return the header of a token file of llm.c and modded-nanogpt: 256 int32, of which three say something."""
    return np.array([LLMC_MAGIC, 1, tokens, *[0] * 253], "<i4").tobytes()
