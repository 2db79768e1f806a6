"""JSON values read tolerantly and written canonically."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import msgspec

from pipeline.documents import clean_text

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode


def parse(line: bytes) -> Any:
    """Return the JSON value in `line`; invalid UTF-8 replaced, lone surrogates and NaN let through.

    Raises:
        ValueError: it is no JSON, or nested beyond Python's recursion limit.
    """
    try:
        return _decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        return json.loads(line.decode("utf-8", "replace"), parse_int=_integer)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _integer(digits: str) -> int | str:
    """Return an integer; one of more digits than Python reads stays a text, for nothing else of its object is wrong."""
    return int(digits) if len(digits) <= sys.int_info.default_max_str_digits else digits


def canonical_json(value: Any) -> str:
    """Return `value` as JSON with sorted keys and no blanks; lone surrogates become U+FFFD, NaN and infinity null."""
    try:
        return _encode(value).decode()
    except (UnicodeEncodeError, OverflowError, ValueError, TypeError, RecursionError):
        return json.dumps(_cleaned(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return {clean_text(k): _cleaned(v) for k, v in value.items()} if isinstance(value, dict) else value
