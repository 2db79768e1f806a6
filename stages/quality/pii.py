"""What tells of a person or a machine in a text is replaced: e-mail and IP addresses, telephone and card numbers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Keep, Span, StageFault, Verdict

Kind = Literal["email", "ip", "phone", "card"]

_EMAIL = re.compile(
    r"(?<![\w.+/-])[A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_+-])?@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_VERSION = re.compile(r"(?:\bv|version|release|kernel|firmware|build)\W{0,3}$", re.IGNORECASE)
_CARD = re.compile(r"(?<![\w.,+-])[2-6]\d{3}(?:([ -]?)\d{4}\1\d{4}\1\d{1,7}|([ -]?)\d{6}\2\d{4,5})(?![\w-]|[.,]\d)")
_PHONE = re.compile(
    r"(?<![\w.,/+-])(?:"
    r"\+[1-9]\d{0,2}[ .\-]?(?:\(0?\d{1,4}\)[ .\-]?)?\d{1,5}(?:[ .\-/]?\d{2,5}){1,4}"
    r"|(?:1[ .\-])?\([2-9]\d{2}\) ?[2-9]\d{2}[.\-]\d{4}"
    r"|(?:1[ .\-])?[2-9]\d{2}([.\-])[2-9]\d{2}\1\d{4}"
    r")(?![\w-]|[.,]\d)"
)

REPLACEMENTS: Mapping[str, tuple[str, ...]] = {
    "email": ("email@example.com", "firstname.lastname@example.org"),
    "ip": ("192.0.2.1", "198.51.100.1", "203.0.113.1", "192.0.2.2", "198.51.100.2", "203.0.113.2"),
    "phone": tuple(f"+1-202-555-01{n:02d}" for n in range(100)),
    "card": ("0000 0000 0000 0000",),
}
"""Addresses that RFC 2606 and RFC 5737 keep for documentation, numbers kept for fiction."""


@dataclass(frozen=True, kw_only=True)
class Pii(DocumentStage):
    """Replace e-mail addresses, public IP addresses, telephone numbers and card numbers.

    As FineWeb's formatter, but what stands in place of a find depends on the document alone: the first address in it
    becomes the first replacement, the second another, the same one the same again. IP addresses are public ones that
    do not follow a word for a version; card numbers have a check digit that is right (Luhn) and the first digit of a card;
    telephone numbers are international ones with ``+``, and North American ones with their separators. Each find is a
    span in the ledger, as it stood, with its replacement.
    """

    name: ClassVar[str] = "pii"
    published: ClassVar[str] = "FineWeb, arXiv:2406.17557; Luhn, US patent 2,950,048; RFC 2606, RFC 5737"

    kinds: tuple[Kind, ...] = ("email", "ip", "phone", "card")
    """What is looked for."""
    tag: str = ""
    """A text to put in place of every find, such as ``<{kind}>``; empty: an address or number that is nobody's."""
    spans: bool = True
    """Write each find into the ledger; false: only its replacement, so that the ledger tells of nobody."""

    def check(self) -> None:
        if not self.kinds:
            raise StageFault("kinds", "name at least one of email, ip, phone, card")
        if "{" in self.tag.replace("{kind}", ""):
            raise StageFault("tag", f"{self.tag!r}: only {{kind}} is put in")

    def judge(self, document: Document) -> Verdict:
        text = document.text
        spans: list[Span] = []
        for kind in ("email", "card", "ip", "phone"):
            if kind in self.kinds and _WORTH_A_LOOK[kind](text):
                text = self._replaced(text, kind, spans)
        return Keep(text=text, spans=spans) if spans else None

    def _replaced(self, text: str, kind: str, spans: list[Span]) -> str:
        chosen: dict[str, str] = {}
        pool = REPLACEMENTS[kind]

        def one(found: re.Match[str]) -> str:
            whole = found.group()
            if not _IS[kind](found):
                return whole
            place = chosen.setdefault(
                whole, self.tag.replace("{kind}", kind) if self.tag else pool[len(chosen) % len(pool)]
            )
            if place != whole:
                spans.append(Span(kind, whole if self.spans else place, detail=place))
            return place

        for pattern in _PATTERNS[kind]:
            text = pattern.sub(one, text)
        return text


def is_public_address(found: re.Match[str]) -> bool:
    """Tell whether `found` is an IP address that is reached from everywhere, and no version number."""
    try:
        address = ipaddress.ip_address(found.group())
    except ValueError:
        return False
    return address.is_global and not _VERSION.search(found.string[max(0, found.start() - 12) : found.start()])


def has_check_digit(found: re.Match[str]) -> bool:
    """Tell whether the digits of `found` are 13 to 19 with a right check digit (Luhn), and not all the same."""
    digits = [int(c) for c in found.group() if c.isdigit()]
    doubled = sum(digits[-1::-2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return 13 <= len(digits) <= 19 and doubled % 10 == 0 and len(set(digits)) > 1


def is_phone_number(found: re.Match[str]) -> bool:
    """Tell whether `found` has as many digits as a telephone number can (E.164: at most 15)."""
    return 8 <= sum(map(str.isdigit, found.group())) <= 15


_PATTERNS = {"email": (_EMAIL,), "ip": (_IPV4, _IPV6), "phone": (_PHONE,), "card": (_CARD,)}
_IS: Mapping[str, Callable[[re.Match[str]], bool]] = {
    "email": lambda found: True,
    "ip": is_public_address,
    "phone": is_phone_number,
    "card": has_check_digit,
}
_DIGIT = re.compile("[0-9]")
_WORTH_A_LOOK: Mapping[str, Callable[[str], bool]] = {
    "email": lambda text: "@" in text,
    "ip": lambda text: "." in text or ":" in text,
    "phone": lambda text: _DIGIT.search(text) is not None,
    "card": lambda text: _DIGIT.search(text) is not None,
}
