"""Where the values of a JSON text end: elements of a top-level array, or values one behind the other over many lines."""

from __future__ import annotations

import numpy as np
from numba import njit

DEPTH, BASE, IN_STRING, ESCAPED, IN_VALUE, SEEKING = range(6)
FIELDS = 6
_QUOTE, _BACKSLASH, _COMMA, _NEWLINE = 0x22, 0x5C, 0x2C, 0x0A
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 0x7B, 0x7D, 0x5B, 0x5D


def fresh() -> np.ndarray:
    """Return the state of a scan that begins: int64, shape (FIELDS,)."""
    return np.zeros(FIELDS, np.int64)


@njit(cache=True, nogil=True)
def next_value(data, at, state):  # type: ignore[no-untyped-def]
    """Return (start, end) of the next value in `data` (uint8) from `at` on; what has begun before has start -1, and an
    end of -1 says that the value goes on behind `data`. `state` is kept from call to call.

    A list at the top is opened and its elements are the values. A line break inside a string, which JSON forbids, ends
    a damaged value there; the next is looked for at an opening brace.
    """
    start, size = -1, len(data)
    while at < size:
        byte = data[at]
        at += 1
        if state[IN_STRING]:
            if byte == _NEWLINE:
                state[IN_STRING], state[ESCAPED], state[IN_VALUE], state[SEEKING] = 0, 0, 0, 1
                state[DEPTH] = state[BASE]
                return start, at - 1
            if state[ESCAPED]:
                state[ESCAPED] = 0
            elif byte == _BACKSLASH:
                state[ESCAPED] = 1
            elif byte == _QUOTE:
                state[IN_STRING] = 0
                if state[DEPTH] == state[BASE]:
                    state[IN_VALUE] = 0
                    return start, at
            continue
        if state[IN_VALUE] == 0:
            if byte <= 0x20 or byte == _COMMA or (state[SEEKING] and byte != _OPEN):
                continue
            if byte == 0xEF or byte == 0xBB or byte == 0xBF:
                continue  # a byte order mark
            if byte == _OPEN_LIST and state[BASE] == 0:
                state[BASE] = state[DEPTH] = 1
                continue
            if byte == _CLOSE_LIST and state[BASE] == 1:
                state[BASE] = state[DEPTH] = 0
                continue
            state[IN_VALUE], state[SEEKING] = 1, 0
            start = at - 1
        if byte == _QUOTE:
            state[IN_STRING] = 1
        elif byte in (_OPEN, _OPEN_LIST):
            state[DEPTH] += 1
        elif state[DEPTH] == state[BASE]:  # a number, a word, or a bracket too many
            if byte <= 0x20 or byte == _COMMA or (byte == _CLOSE_LIST and state[BASE] == 1):
                state[IN_VALUE] = 0
                return start, at - 1
        elif byte in (_CLOSE, _CLOSE_LIST):
            state[DEPTH] -= 1
            if state[DEPTH] == state[BASE]:
                state[IN_VALUE] = 0
                return start, at
    return start, -1
