"""Sets of characters that published rules count by, as code points."""

from __future__ import annotations


def _characters(ranges: str) -> frozenset[str]:
    """Return the characters of hexadecimal `ranges` such as ``"0021 002E-002F"``."""
    found: set[str] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        found.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(found)


TERMINAL = _characters(
    """
    0021 002E 003F 0589 061D-061F 06D4 0700-0702 07F9 0837 0839 083D-083E 0964-0965 104A-104B 1362 1367-1368 166E
    1735-1736 17D4-17D6 17D9-17DA 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F 1B7D-1B7E 1C3B-1C3C 1C7E-1C7F
    203C-203D 2047-2049 2E2E 2E3C 2E53-2E54 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9
    AA5D-AA5F AAF0-AAF1 ABEB FE52 FE56-FE57 FF01 FF0E FF1F FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048
    110BE-110C1 11141-11143 111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C 115C2-115C3
    115C9-115D7 11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8 11F43-11F44
    16A6E-16A6F 16AF5 16B37-16B38 16B44 16E98 1BC9F 1DA88
    """
)
"""Marks that end a sentence, of all scripts: Unicode's Sentence_Terminal and three Khmer signs (datatrove 0.10.1)."""

SENTENCE_ENDS = TERMINAL - _characters(
    """
    061D-061E 0837 0839 083D-083E 17D4-17D6 17D9-17DA 1B7D-1B7E 2E53-2E54 10F55-10F59 10F86-10F89 11944 11946
    11EF7-11EF8 11F43-11F44 16E98
    """
)
"""Marks after which spaCy's sentencizer (3.8) ends a sentence."""

SYMBOLS = TERMINAL | _characters(
    """
    0000-0008 000B-001F 0021-002F 003A-0040 005B-0060 007B-009F 00AB 00B4 00BB 2013-2014 2019 201C-201E 2026 2236
    2501 25BA 3001-3002 3008-300D 3010-3011 FF01 FF05 FF08-FF09 FF0C FF0E FF11 FF1A-FF1B FF1F FF5E
    """
)
"""A word of these characters alone is a symbol and not counted as a word (CCNet's punctuation and control
characters, and `TERMINAL`; datatrove 0.10.1). TAB and LF are not among them; FF11, a digit, is, as published."""

UNMARKED = _characters("0E01-0E3A 0E40-0E4E 0E81-0EBD 0EC0-0ECE 0EDC-0EDF")
"""Letters and signs of Thai and Lao, which write no mark at the end of a sentence: a line that ends with one may be one."""

SHADS = _characters("0F08 0F0D-0F12 0F14")
"""Marks that end a clause or a sentence of Tibetan, which Unicode does not have among those that end sentences."""

ENDS_OF_LINES = TERMINAL | UNMARKED | SHADS
"""What a line of prose ends with, whatever its script."""

CLOSING = frozenset("」』”’）》〉】〕｣»")
"""Marks behind the one that ends a quoted sentence."""
