"""The languages of a document's paragraphs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from stages.language.identify import identify
from stages.language.names import NO_LANGUAGE, UNDETERMINED

LEAST = 50
"""Characters from which on a line is judged alone; shorter ones go with those that follow."""
MOST = 2000
"""Paragraphs of a document at most: in a long one they are longer."""
SURE = 0.5
"""A paragraph whose score is lower is taken to be in the language of the one before it."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of a document or some short ones, with their line ends, and the language they are in."""

    text: str
    label: str


def paragraphs(text: str, engine: str) -> list[Paragraph]:
    """Return the paragraphs of `text`; joined, their texts are `text`.

    A paragraph without language of its own (a number, code, a name) has that of the one before it, or else of the
    next that has one.
    """
    found: list[Paragraph] = []
    last = UNDETERMINED
    for piece in _pieces(text):
        answer = identify(piece, engine)
        if answer.label != NO_LANGUAGE and answer.score >= SURE:
            if last == UNDETERMINED:
                found = [replace(paragraph, label=answer.label) for paragraph in found]
            last = answer.label
        found.append(Paragraph(piece, last))
    return found


def shares(pieces: list[Paragraph]) -> dict[str, float]:
    """Return the share of the characters of each language, the largest first."""
    sizes: Counter[str] = Counter()
    for piece in pieces:
        sizes[piece.label] += len(piece.text.strip())
    total = sum(sizes.values())
    return {label: size / total for label, size in sizes.most_common() if size}


def _pieces(text: str) -> list[str]:
    least = max(LEAST, len(text) // MOST)
    pieces: list[str] = []
    piece = ""
    for line in text.splitlines(keepends=True):
        piece += line
        if len(piece) >= least and len(piece.strip()) >= least:
            pieces.append(piece)
            piece = ""
    if piece.strip() and not pieces:
        return [piece]
    if piece:
        pieces[-1:] = [(pieces[-1] if pieces else "") + piece]
    return pieces
