"""Custom pretoken patterns that mean the same to every engine that will read them, or are refused.

A pattern is run by the `regex` library here, by Oniguruma in `tokenizers` and by fancy-regex in `tiktoken`. They share
most of their syntax and differ in the rest: ``{1,3}+`` is possessive in two of them and a repeat of a repeat in the
third (Oniguruma's doc/RE, section 4), ``$`` ends lines or the text, a class may hold another class or not. What is
accepted is a grammar in which they agree, found by running all three; everything else is refused by name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NoReturn

import regex

from pipeline.errors import UserError
from tokenizer.pretokens.unicode_classes import changed_since

PROPERTIES = frozenset(
    [
        "L",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "M",
        "Mn",
        "Mc",
        "Me",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Ps",
        "Pe",
        "Pi",
        "Pf",
        "Po",
        "S",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Z",
        "Zs",
        "Zl",
        "Zp",
        "Arabic",
        "Armenian",
        "Bengali",
        "Bopomofo",
        "Cyrillic",
        "Devanagari",
        "Ethiopic",
        "Georgian",
        "Greek",
        "Han",
        "Hangul",
        "Hebrew",
        "Hiragana",
        "Katakana",
        "Khmer",
        "Latin",
        "Tamil",
        "Thai",
    ]
)
"""General categories and scripts of which the three engines know the same characters, those of Unicode 16."""

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;=?@[\\]^_`{|}~ ")  # with a backslash before it, itself
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_CLASSES = frozenset("dDsS")
_FOLDED = {"k": "kK\u212a", "s": "sS\u017f"}  # other ASCII letters have their capital alone
_JOINED = frozenset({"ss", "ff", "fi", "fl", "st"})  # one character in Oniguruma where case is ignored: ß, ﬀ, ﬁ, ﬂ, ﬆ
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")

_REFUSED = {
    "\\w": (r"differs in the characters it means", r"[\p{L}\p{M}\p{N}_]"),
    "\\b": (r"differs, as \w does", r"a lookahead such as (?!\p{L})"),
    "\\Z": (r"is the end of the text, or before a line break that ends it", r"\z"),
    "\\h": ("is a hexadecimal digit in some engines and white space in others", r"[0-9a-fA-F] or [ \t]"),
    "$": ("is the end of a line in Oniguruma and of the text elsewhere", r"\z, or (?=\n|\z) for lines"),
    "^": ("is the beginning of a line in Oniguruma and of the text elsewhere", r"\A"),
}
_REFUSED["\\W"] = (_REFUSED["\\w"][0], r"[^\p{L}\p{M}\p{N}_]")
_REFUSED["\\B"] = _REFUSED["\\b"]


@lru_cache(maxsize=64)
def translated(pattern: str) -> str:
    """Return `pattern` as the `regex` library has to be given it to mean what the other engines read.

    Raises:
        UserError: a construct that the engines read differently, or that may match nothing at all.
    """
    parser = _Parser(pattern)
    text, least = parser.alternatives()
    if parser.at < len(pattern):
        parser.refuse(pattern[parser.at], "closes nothing", "\\" + pattern[parser.at])
    if least == 0:
        raise UserError(
            f"pattern: {pattern!r} matches the empty string, so it would cut between all characters; mend it"
        )
    return text


class _Parser:
    """Reads a pattern by recursive descent. Every method answers (text for `regex`, least characters matched)."""

    def __init__(self, pattern: str):
        self.pattern = pattern
        self.at = 0
        self.fixed = False  # inside a lookbehind: nothing is repeated

    def refuse(self, construct: str, why: str, instead: str = "") -> NoReturn:
        """Raise for `construct`, which stands before or at the current place."""
        remedy = f"; write {instead}" if instead else ""
        raise UserError(f"pattern: {construct} (at {self.at}) {why}, and the engines have to agree{remedy}")

    def next_is(self, text: str) -> bool:
        """Pass over `text` if it comes next."""
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def alternatives(self) -> tuple[str, int]:
        """Read up to a closing bracket or the end."""
        branches = [self._sequence()]
        while self.next_is("|"):
            branches.append(self._sequence())
        return "|".join(text for text, _ in branches), min(least for _, least in branches)

    def _sequence(self) -> tuple[str, int]:
        texts, total = [], 0
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            start = self.at
            text, least, repeatable = self._atom()
            construct = self.pattern[start : self.at]
            quantifier, fewest, several = self._quantifier(construct)
            if quantifier:
                if not repeatable or (several and least == 0):
                    self.refuse(f"{construct}{quantifier}", "repeats what may match nothing")
                if self.fixed:
                    self.refuse(f"{construct}{quantifier}", "repeats inside a lookbehind")
            texts.append(text + quantifier)
            total += least * (fewest if quantifier else 1)
        return "".join(texts), total

    def _atom(self) -> tuple[str, int, bool]:
        """Read what a quantifier may follow; answer its text, least characters, and whether one may indeed."""
        char = self.pattern[self.at]
        if char == "(":
            return self._group()
        if char == "[":
            return self._class(self._class_text), 1, True
        if char == "\\":
            return self._escape()
        if char in "$^":
            self.refuse(char, *_REFUSED[char])
        if char in "*+?{":
            self.refuse(char, "repeats nothing here", "\\" + char)
        self.at += 1
        return char, 1, True

    def _escape(self) -> tuple[str, int, bool]:
        for anchor, ours in (("\\A", "\\A"), ("\\z", "\\Z")):
            if self.next_is(anchor):
                return ours, 0, False
        text, _ = self._escaped()
        return text, 1, True

    def _escaped(self) -> tuple[str, str | None]:
        """Read an escape that stands for one character of some kind; answer its text, and the character if it is one."""
        found = regex.compile(r"\\(?:[pP]\{(\w*)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", regex.S).match(
            self.pattern, self.at
        )
        if found is None:
            self.refuse(self.pattern[self.at :], "is no complete escape", "\\\\ for a backslash")
        text, name, wide, narrow, char = found.group(0, 1, 2, 3, 4)
        if name is not None:
            if name not in PROPERTIES:
                self.refuse(text, f"is none of {', '.join(sorted(PROPERTIES))}")
            self.at = found.end()
            return text, None
        if wide or narrow:
            code = int(wide or narrow, 16)
            if 0xD800 <= code < 0xE000 or (narrow and code > 0x7F):
                self.refuse(text, "is no character in every engine", "the character itself")
            self.at = found.end()
            return text, chr(code)
        if char in _CLASSES:
            self.at = found.end()
            return text, None
        if char not in _CONTROLS and char not in _PUNCTUATION:
            self.refuse(text, *_REFUSED.get(text, ("is not the same, or not known, in every engine",)))
        self.at = found.end()
        return text, _CONTROLS.get(char, char)

    def _quantifier(self, before: str) -> tuple[str, int, bool]:
        """Read a quantifier; answer its text, the fewest times, and whether more than once is allowed."""
        found = regex.compile(r"[*+?][?+]?|\{(\d+)(,?)(\d*)\}\??").match(self.pattern, self.at)
        if found is None:
            if self.pattern.startswith("{", self.at):
                self.refuse("{", "is no count here; counts are {2}, {2,} and {2,5}", "\\{ for the character")
            return "", 1, False
        text, (low, comma, high) = found.group(), found.group(1, 2, 3)
        after = self.pattern[found.end() : found.end() + 1]
        if low is not None:
            if after == "+":
                self.refuse(
                    f"{before}{text}+", "is possessive in tiktoken and a repeat of a repeat in tokenizers",
                    f"(?>{before}{text})",
                )  # fmt: skip
            if text.endswith("?") and not comma:
                self.refuse(f"{before}{text}", "is lazy in some engines and optional in others", f"{before}{text[:-1]}")
            if high and int(high) < int(low):
                self.refuse(f"{before}{text}", "counts down")
        if after and after in "*+?{":
            self.refuse(f"{before}{text}{after}", "repeats a repeat", f"(?:{before}{text}){after}")
        self.at = found.end()
        fewest = int(low) if low is not None else int(text[0] == "+")
        return (
            text,
            fewest,
            not (text[0] == "?" or (low is not None and not comma and int(low) <= 1) or high in ("0", "1")),
        )

    def _group(self) -> tuple[str, int, bool]:
        start = self.at
        if self.next_is("(?i:"):
            text, least = self._without_case()
            return self._closed("(?:", text, start), least, True
        opening = next((o for o in (*_LOOKS, "(?:", "(?>") if self.next_is(o)), "")
        if not opening and self.pattern.startswith(("(?", "(*"), self.at):
            construct = self.pattern[self.at : self.at + 4]
            self.refuse(
                construct, "is not the same, or not known, in every engine", "(?:…), (?>…), (?=…), (?!…) or (?i:…)"
            )
        opening = opening or "(?:" * self.next_is("(")  # nothing refers to groups
        behind, self.fixed = self.fixed, self.fixed or opening.startswith("(?<")
        text, least = self.alternatives()
        self.fixed = behind
        looks = opening in _LOOKS
        return self._closed(opening, text, start), 0 if looks else least, not looks

    def _closed(self, opening: str, text: str, start: int) -> str:
        if not self.next_is(")"):
            self.at = start
            self.refuse("(", "is never closed", "\\( for the character")
        return f"{opening}{text})"

    def _without_case(self) -> tuple[str, int]:
        """Read the inside of ``(?i:…)``: alternatives of ASCII characters and classes, each written with both cases."""
        branches, lengths = [], []
        while True:
            members: list[str] = []
            while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
                members.append(self._caseless())
            for left, right in itertools.pairwise(members):
                joined = {a + b for a in left.lower() for b in right.lower()} & _JOINED
                if joined:
                    self.refuse(
                        f"(?i:…{min(joined)}…)", "is one character too (a ligature, ß) in Oniguruma", "it in both cases"
                    )
            branches.append("".join(f"[{regex.escape(m)}]" if len(m) > 1 else regex.escape(m) for m in members))
            lengths.append(len(members))
            if not self.next_is("|"):
                return "|".join(branches), min(lengths)

    def _caseless(self) -> str:
        """Read one character or class in ``(?i:…)``; answer all characters it means."""
        char = self.pattern[self.at]
        if char == "[":
            members = "".join(self._class(self._ascii_members))
        elif char == "\\":
            text, single = self._escaped()
            members = single or self.refuse(f"(?i:…{text}…)", "is no ASCII character")
        elif char in "()*+?{^$.":
            self.refuse(f"(?i:…{char}…)", "is not taken where case is ignored", "it outside (?i:…)")
        else:
            self.at += 1
            members = char
        if not members.isascii():
            self.refuse(f"(?i:…{members}…)", "differs in what is the same character in another case", "both cases")
        return "".join(sorted({f for m in members for f in _FOLDED.get(m.lower(), m.lower() + m.upper())}))

    def _class(self, made: Callable[[str, Sequence[tuple[str, str | None, str | None]]], str]) -> str:
        """Read ``[…]``; answer what `made` makes of its sign and its members (text, first and last character)."""
        start = self.at
        self.at += 1
        sign = "^" * self.next_is("^")
        members: list[tuple[str, str | None, str | None]] = []
        while not self.pattern.startswith("]", self.at):
            text, first = self._member(start, bool(members))
            last = first
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at):
                self.at += 1
                end, last = self._member(start, True)
                if first is None or last is None or first > last:
                    self.refuse(f"{text}-{end}", "is no range of characters", "\\- for a hyphen")
                text = f"{text}-{end}"
                if not last.isascii() and changed_since(ord(first), ord(last)):
                    self.refuse(
                        f"{text}", "holds characters that some engines do not know yet", r"\p{…}, or [^\x00-\x7f]"
                    )
            members.append((text, first, last))
        if not members:
            self.refuse("[]", "is an empty class in some engines", "\\] for a bracket")
        texts = {text for text, _, _ in members}
        both = next((text for text in texts if sign and _opposite(text) in texts), "")
        if both:
            pair = "".join(sorted((both, _opposite(both)), key=str.swapcase))
            self.refuse(f"[^{pair}]", "matches nothing, or everything in some engines")
        self.at += 1
        return made(sign, members)

    def _member(self, start: int, later: bool) -> tuple[str, str | None]:
        if self.at >= len(self.pattern):
            self.at = start
            self.refuse("[", "is never closed", "\\[ for the character")
        char = self.pattern[self.at]
        if char == "\\":
            return self._escaped()
        if char == "[" or self.pattern[self.at : self.at + 2] in ("&&", "~~", "--", "||"):
            self.refuse(f"[…{char}…]", "is an operation on classes in some engines", f"\\{char}")
        if char == "-" and later and not self.pattern.startswith("-]", self.at):
            self.refuse("[…-…]", "is a range or a hyphen", "\\-")
        self.at += 1
        return ("\\-" if char == "-" else char), char

    @staticmethod
    def _class_text(sign: str, members: Sequence[tuple[str, str | None, str | None]]) -> str:
        return f"[{sign}{''.join(text for text, _, _ in members)}]"

    def _ascii_members(self, sign: str, members: Sequence[tuple[str, str | None, str | None]]) -> str:
        if sign or any(first is None for _, first, _ in members):
            self.refuse("(?i:[…])", "is taken with ASCII characters only", "it outside (?i:…)")
        found = [map(chr, range(ord(first or ""), ord(last or "") + 1)) for _, first, last in members]
        return "".join(itertools.chain.from_iterable(found))


def _opposite(text: str) -> str:
    """Return the class of all that class `text`, such as ``\\s`` or ``\\p{L}``, leaves out; empty where it is no such class."""
    is_class = len(text) > 1 and text[0] == "\\" and text[1] in "sSdDwWpP"
    return f"\\{text[1].swapcase()}{text[2:]}" if is_class else ""
