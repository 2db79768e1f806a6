"""Decoders of the multi-byte encodings, step by step as the Encoding Standard has them (https://encoding.spec.whatwg.org).

Each kernel takes bytes (uint8), an index (code point by pointer, 0 for none) and room for code points (uint32, one more
than there are bytes), and returns how many code points it wrote and how many of them are U+FFFD for bytes that cannot be
decoded. What such a byte takes with it is the standard's to say: a lead byte before ASCII is lost alone, so that no
markup or quotation mark behind it is swallowed.
"""

# mypy: disable-error-code="assignment"
from __future__ import annotations

import numpy as np
from numba import njit

BAD = 0xFFFD
_EUDC, _EUDC_FIRST, _EUDC_LAST = 0xE000, 8836, 10715
_KATAKANA = 0xFF61
_ASCII, _ROMAN, _HALF_WIDTH, _LEAD, _TRAIL, _ESCAPE_START, _ESCAPE = range(7)


@njit(cache=True, nogil=True)
def shift_jis(raw, jis0208, out):  # type: ignore[no-untyped-def]
    """Decode Shift_JIS; the pointers of user-defined characters are the private use area, as on Windows."""
    at, n, bad, lead, size = 0, 0, 0, 0, len(raw)
    while at < size:
        byte = np.int64(raw[at])
        at += 1
        if lead != 0:
            found = 0
            if 0x40 <= byte <= 0x7E or 0x80 <= byte <= 0xFC:
                pointer = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 188 + byte - (0x40 if byte < 0x7F else 0x41)
                if _EUDC_FIRST <= pointer <= _EUDC_LAST:
                    found = _EUDC - _EUDC_FIRST + pointer
                elif pointer < len(jis0208):
                    found = np.int64(jis0208[pointer])
            lead = 0
            if found == 0:
                at -= byte < 0x80
                bad += 1
                found = BAD
            out[n] = found
            n += 1
        elif byte <= 0x80:
            out[n] = byte
            n += 1
        elif 0xA1 <= byte <= 0xDF:
            out[n] = _KATAKANA - 0xA1 + byte
            n += 1
        elif byte <= 0x9F or 0xE0 <= byte <= 0xFC:
            lead = byte if byte != 0xA0 else 0
        else:
            out[n] = BAD
            n, bad = n + 1, bad + 1
    if lead != 0:
        out[n] = BAD
        n, bad = n + 1, bad + 1
    return n, bad


@njit(cache=True, nogil=True)
def euc_jp(raw, jis0208, jis0212, out):  # type: ignore[no-untyped-def]
    """Decode EUC-JP: JIS X 0208, half-width katakana behind 8E, JIS X 0212 behind 8F."""
    at, n, bad, lead, size = 0, 0, 0, 0, len(raw)
    third = False
    while at < size:
        byte = np.int64(raw[at])
        at += 1
        if lead == 0x8E and 0xA1 <= byte <= 0xDF:
            lead = 0
            out[n] = _KATAKANA - 0xA1 + byte
            n += 1
        elif lead == 0x8F and 0xA1 <= byte <= 0xFE:
            third, lead = True, byte
        elif lead != 0:
            found = 0
            if 0xA1 <= lead <= 0xFE and 0xA1 <= byte <= 0xFE:
                pointer = (lead - 0xA1) * 94 + byte - 0xA1
                if third:
                    found = np.int64(jis0212[pointer]) if pointer < len(jis0212) else 0
                else:
                    found = np.int64(jis0208[pointer]) if pointer < len(jis0208) else 0
            third, lead = False, 0
            if found == 0:
                at -= byte < 0x80
                bad += 1
                found = BAD
            out[n] = found
            n += 1
        elif byte < 0x80:
            out[n] = byte
            n += 1
        elif byte == 0x8E or byte == 0x8F or 0xA1 <= byte <= 0xFE:
            lead = byte
        else:
            out[n] = BAD
            n, bad = n + 1, bad + 1
    if lead != 0:
        out[n] = BAD
        n, bad = n + 1, bad + 1
    return n, bad


@njit(cache=True, nogil=True)
def euc_kr(raw, index, out):  # type: ignore[no-untyped-def]
    """Decode EUC-KR with the extension of Windows (code page 949)."""
    at, n, bad, lead, size = 0, 0, 0, 0, len(raw)
    while at < size:
        byte = np.int64(raw[at])
        at += 1
        if lead != 0:
            pointer = (lead - 0x81) * 190 + byte - 0x41
            found = np.int64(index[pointer]) if 0x41 <= byte <= 0xFE and pointer < len(index) else 0
            lead = 0
            if found == 0:
                at -= byte < 0x80
                bad += 1
                found = BAD
            out[n] = found
            n += 1
        elif byte < 0x80:
            out[n] = byte
            n += 1
        elif 0x81 <= byte <= 0xFE:
            lead = byte
        else:
            out[n] = BAD
            n, bad = n + 1, bad + 1
    if lead != 0:
        out[n] = BAD
        n, bad = n + 1, bad + 1
    return n, bad


@njit(cache=True, nogil=True)
def big5(raw, index, out):  # type: ignore[no-untyped-def]
    """Decode Big5 with the characters of Hong Kong, of which four are two code points each."""
    at, n, bad, lead, size = 0, 0, 0, 0, len(raw)
    while at < size:
        byte = np.int64(raw[at])
        at += 1
        if lead != 0:
            found, second = 0, 0
            if 0x40 <= byte <= 0x7E or 0xA1 <= byte <= 0xFE:
                pointer = (lead - 0x81) * 157 + byte - (0x40 if byte < 0x7F else 0x62)
                if pointer == 1133 or pointer == 1135:
                    found, second = 0xCA, 0x304 if pointer == 1133 else 0x30C
                elif pointer == 1164 or pointer == 1166:
                    found, second = 0xEA, 0x304 if pointer == 1164 else 0x30C
                elif pointer < len(index):
                    found = np.int64(index[pointer])
            lead = 0
            if found == 0:
                at -= byte < 0x80
                bad += 1
                found = BAD
            out[n] = found
            n += 1
            if second != 0:
                out[n] = second
                n += 1
        elif byte < 0x80:
            out[n] = byte
            n += 1
        elif 0x81 <= byte <= 0xFE:
            lead = byte
        else:
            out[n] = BAD
            n, bad = n + 1, bad + 1
    if lead != 0:
        out[n] = BAD
        n, bad = n + 1, bad + 1
    return n, bad


@njit(cache=True, nogil=True)
def _in_ranges(pointer, ranges):  # type: ignore[no-untyped-def]
    """Return the code point of a four-byte pointer of gb18030, 0 for none. `ranges`: (pointer, code point) ascending."""
    if 39419 < pointer < 189000 or pointer > 1237575:
        return 0
    if pointer == 7457:
        return 0xE7C7
    low, high = 0, len(ranges)
    while high - low > 1:
        middle = (low + high) // 2
        if np.int64(ranges[middle, 0]) <= pointer:
            low = middle
        else:
            high = middle
    return np.int64(ranges[low, 1]) + pointer - np.int64(ranges[low, 0])


@njit(cache=True, nogil=True)
def gb18030(raw, index, ranges, out):  # type: ignore[no-untyped-def]
    """Decode gb18030, which GBK and GB2312 are parts of; byte 80 is the euro sign."""
    at, n, bad, size = 0, 0, 0, len(raw)
    while at < size:
        byte = np.int64(raw[at])
        if byte < 0x80:
            out[n] = byte
            at, n = at + 1, n + 1
            continue
        found, taken = 0, 1
        if byte == 0x80:
            found = 0x20AC
        elif byte != 0xFF:
            if at + 1 >= size:
                taken = 1
            elif 0x30 <= raw[at + 1] <= 0x39:
                found, taken = _four(raw, at, ranges)
            else:
                trail = np.int64(raw[at + 1])
                if 0x40 <= trail <= 0x7E or 0x80 <= trail <= 0xFE:
                    found = np.int64(index[(byte - 0x81) * 190 + trail - (0x40 if trail < 0x7F else 0x41)])
                taken = 2 if found != 0 or trail >= 0x80 else 1
        if found == 0:
            found = BAD
            bad += 1
        out[n] = found
        at, n = at + taken, n + 1
    return n, bad


@njit(cache=True, nogil=True)
def _four(raw, at, ranges):  # type: ignore[no-untyped-def]
    """Return the code point (0 for none) of what may be four bytes at `at`, and how many bytes it takes."""
    left = len(raw) - at
    if left >= 3 and not 0x81 <= raw[at + 2] <= 0xFE:
        return 0, 1
    if left < 4:
        return 0, left  # the end of the bytes: one error for all
    if not 0x30 <= raw[at + 3] <= 0x39:
        return 0, 1
    pointer = (
        (np.int64(raw[at]) - 0x81) * 12600
        + (np.int64(raw[at + 1]) - 0x30) * 1260
        + (np.int64(raw[at + 2]) - 0x81) * 10
        + np.int64(raw[at + 3])
        - 0x30
    )
    return _in_ranges(pointer, ranges), 4


@njit(cache=True, nogil=True)
def iso_2022_jp(raw, jis0208, out):  # type: ignore[no-untyped-def]
    """Decode ISO-2022-JP, whose escape sequences switch between ASCII, JIS Roman, katakana and JIS X 0208."""
    at, n, bad, lead, size = 0, 0, 0, 0, len(raw)
    state, behind = _ASCII, _ASCII  # behind: the state to go back to where an escape sequence is none
    switched = False  # an escape sequence was the last thing read: a second one says nothing and is an error
    while at <= size:
        end = at == size
        byte = np.int64(0) if end else np.int64(raw[at])
        at += 1
        if state == _ESCAPE_START:
            if not end and (byte == 0x24 or byte == 0x28):
                lead, state = byte, _ESCAPE
                continue
            at -= 1
            switched, state = False, behind
        elif state == _ESCAPE:
            new = -1
            if not end and lead == 0x28:
                new = _ASCII if byte == 0x42 else _ROMAN if byte == 0x4A else _HALF_WIDTH if byte == 0x49 else -1
            elif not end and (byte == 0x40 or byte == 0x42):
                new = _LEAD
            if new >= 0:
                state = behind = new
                again, switched = switched, True
                if not again:
                    continue
            else:
                at -= 2
                switched, state = False, behind
        elif end:
            if state != _TRAIL:
                break
            state = _LEAD
        elif byte == 0x1B:
            inside = state == _TRAIL
            state = _ESCAPE_START
            if not inside:
                continue
        elif state == _TRAIL:
            state = _LEAD
            pointer = (lead - 0x21) * 94 + byte - 0x21
            if 0x21 <= byte <= 0x7E and jis0208[pointer] != 0:
                out[n] = jis0208[pointer]
                n += 1
                continue
        elif state == _LEAD:
            switched = False
            if 0x21 <= byte <= 0x7E:
                lead, state = byte, _TRAIL
                continue
        elif state == _HALF_WIDTH:
            switched = False
            if 0x21 <= byte <= 0x5F:
                out[n] = _KATAKANA - 0x21 + byte
                n += 1
                continue
        else:
            switched = False
            if byte < 0x80 and byte != 0x0E and byte != 0x0F:
                if state == _ROMAN and byte == 0x5C:
                    byte = np.int64(0xA5)
                elif state == _ROMAN and byte == 0x7E:
                    byte = np.int64(0x203E)
                out[n] = byte
                n += 1
                continue
        out[n] = BAD
        n, bad = n + 1, bad + 1
    return n, bad
