"""Documents for training and testing, from files; those to test on may bring their label along."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import InputError
from pipeline.readers import Fault, ReadOptions, carried_fields, read_split
from stages.quality.training.examples import BAD, GOOD
from tokenizer.files import BATCH_BYTES, COLUMNS, RECORD_BYTES, Piece, find_inputs

LABELS = {
    **dict.fromkeys(("1", "1.0", "true", "good", "hq", f"__label__{GOOD}"), GOOD),
    **dict.fromkeys(("0", "0.0", "false", "bad", "cc", f"__label__{BAD}"), BAD),
}
"""What a document's own label may be, in lower case."""
UNREADABLE = "could not be read"


def texts_of(paths: Sequence[str], column: str, left_out: Counter[str]) -> Iterator[str]:
    """Yield the text of each document in `paths`; records that cannot be read are counted in `left_out`.

    Raises:
        InputError: none can be read.
    """
    before, any_text = left_out[UNREADABLE], False
    for piece in find_inputs(paths, column):
        for item in piece.read():
            if isinstance(item, int):
                left_out[UNREADABLE] += item
            else:
                any_text = any_text or len(item) > 0
                yield from item.texts
    if not any_text and left_out[UNREADABLE] > before:
        raise InputError(
            f"{', '.join(paths)}: none of {left_out[UNREADABLE] - before:,} records has a text in {column!r}; name the column "
            "or key with --text-column"
        )


def labelled(paths: Sequence[str], column: str, left_out: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) of each document in `paths`, whose column or key ``label`` is one of `LABELS`.

    Raises:
        InputError: a document has another label, or none.
    """
    for piece in find_inputs(paths, column):
        for number, (label, text) in enumerate(_with_label(piece, left_out)):
            known = LABELS.get(str(label).strip().lower())
            if known is None:
                raise InputError(
                    f"{piece.split.file.name}: document {number} of it has label {label!r}; to test on a file, each document "
                    "needs a key `label`: 1 or 0, good or bad (or give a share to hold out, or --test-good and --test-bad)"
                )
            yield known, text


def _with_label(piece: Piece, left_out: Counter[str]) -> Iterator[tuple[Any, str]]:
    file = piece.split.file
    if piece.split.format == "text":  # plain text brings no label
        yield None, ""
        return
    carried = [field for field in carried_fields(file) if field.name == "label"]
    schema = pa.schema([*COLUMNS, pa.field("extra", pa.large_string()), *carried])
    for item in read_split(piece.split, ReadOptions(schema, BATCH_BYTES, {}, RECORD_BYTES)):
        if isinstance(item, Fault):
            left_out[UNREADABLE] += 1
        elif isinstance(item, Batch):
            labels = item.column("label") if carried else [_in_extra(extra) for extra in item.column("extra")]
            yield from zip(labels, item.texts, strict=True)


def _in_extra(extra: str | None) -> Any:
    return json.loads(extra).get("label") if extra else None
