"""Texts as the kernels take them: UTF-8 bytes one behind the other, with the offset of each document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.documents import clean_text
from tokenizer.memory import PADDING, padded


@dataclass(frozen=True)
class Texts:
    """Documents for the kernels.

    Attributes:
        data: uint8; the texts as UTF-8, followed by at least `PADDING` bytes.
        offsets: int64, shape (documents + 1,): document d is ``data[offsets[d]:offsets[d + 1]]``.
    """

    data: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return max(0, len(self.offsets) - 1)

    @property
    def nbytes(self) -> int:
        """Bytes of text."""
        return int(self.offsets[-1] - self.offsets[0]) if len(self) else 0

    @classmethod
    def of(
        cls, texts: Texts | pa.Array | pa.ChunkedArray | Iterable[str | bytes | None], *, checked: bool = False
    ) -> Texts:
        """Return `texts` (an Arrow array or strings; null is empty) as valid UTF-8.

        Every lone surrogate of a string, and every ill-formed sequence of bytes, is counted as U+FFFD, which is
        what `clean_text` and ``bytes.decode("utf-8", "replace")`` make of them.

        Args:
            checked: an Arrow array is known to be valid UTF-8, as what `pipeline.readers` yields is.
        """
        if isinstance(texts, Texts):
            return texts
        if isinstance(texts, pa.ChunkedArray):
            if pa.types.is_string(texts.type):
                texts = texts.cast(pa.large_string())  # chunks of 32-bit offsets do not join beyond 2 GiB
            texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], pa.large_string())
        if isinstance(texts, pa.Array):
            return _of_arrow(texts, checked)
        return _of_strings([texts] if isinstance(texts, str | bytes) else texts)

    def bytes_of(self, document: int) -> bytes:
        """Return the text of `document` as UTF-8."""
        return self.data[self.offsets[document] : self.offsets[document + 1]].tobytes()


def _of_strings(texts: Iterable[str | bytes | None]) -> Texts:
    pieces = [_clean(text) for text in texts]
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return Texts(np.frombuffer(b"".join([*pieces, bytes(PADDING)]), np.uint8), offsets)


def _clean(text: str | bytes | None) -> bytes:
    if text is None:
        return b""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace").encode()
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean_text(text).encode()


def _of_arrow(array: pa.Array, checked: bool) -> Texts:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        return _of_strings(_as_python(array))
    array = array.cast(pa.large_string())
    if array.null_count:
        array = array.fill_null("")
    try:
        if not checked:
            array.validate(full=True)
    except pa.ArrowInvalid:
        return _of_strings(_as_python(array.cast(pa.large_binary())))
    if len(array) == 0:
        return _of_strings([])
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, np.int64)[array.offset : array.offset + len(array) + 1]
    used = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if len(used) < offsets[-1] + PADDING:
        return Texts(padded(used[offsets[0] : offsets[-1]]), offsets - offsets[0])
    return Texts(used, offsets.copy())


def _as_python(array: pa.Array) -> Sequence[bytes | None]:
    return array.to_pylist()
