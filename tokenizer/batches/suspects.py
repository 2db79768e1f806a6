"""The documents of a window that are most likely to be what is unusual in it, each with its reason and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tokenizer.batches.look import CATEGORIES, LOWER_TOO, Finding, Looker, Window, document_keys
from tokenizer.batches.look_kernel import SIGNALS, copied_tokens

LEAST_TOKENS = 32
"""Pieces of fewer tokens say little about themselves."""
STRONGEST = 40.0
"""Strength of a finding from which on more of it means nothing."""
ALONE = 2.0
"""What a document weighs that stands out from the corpus by itself, for each power of ten it is rarer."""


@dataclass(frozen=True)
class Suspect:
    """A document of the window.

    Attributes:
        part, document: where it lies.
        sample: the first sample of the window that reads it, counted from the window's first.
        tokens: that the window reads of it.
        score: how unusual; the list is in its order.
        reason: the finding or signal that makes it so.
        value: of that signal; the share of copies or the bits of token mix where it is that.
        rarity: share of the corpus that is as far out; 1 where the reason is none of a document alone.
        piece: row of the piece in the window by which it was judged.
    """

    part: int
    document: int
    sample: int
    tokens: int
    score: float
    reason: str
    value: float
    rarity: float
    piece: int


def suspects_of(looker: Looker, window: Window, findings: Sequence[Finding], number: int = 20) -> list[Suspect]:
    """Return the `number` documents of `window` that stand out most.

    A document answers for each finding of the window by how far it is out on that side itself (0 to 1), times the
    finding's strength; and for what makes it rare in the corpus, whatever the window.
    """
    pieces = window.pieces
    if not len(pieces):
        return []
    scores, values, rarities, reasons = [], [], [], []
    known = {finding.name: finding for finding in findings}
    for k, name in enumerate(SIGNALS):
        finding = known[name]
        column = window.signals[:, k]
        for high in (True, False) if name in LOWER_TOO else (True,):
            tail = _tail(column, looker.corpus.signals[:, k], looker.corpus.pieces.tokens, high=high)
            strength = min(finding.strength, STRONGEST) if finding.high == high and finding.rank <= 50 else 0.0
            scores.append(np.maximum(strength * (1 - tail), ALONE * -np.log10(tail)))
            values.append(column)
            rarities.append(tail)
            reasons.append(f"{name} {'high' if high else 'low'}" if name in LOWER_TOO else name)
    copied = np.zeros(len(pieces), np.int64)
    copied_tokens(window.tokens, window.bounds, document_keys(pieces), copied)
    own = copied / np.maximum(1, pieces.tokens)
    ratios = looker.ratios(window)[window.tokens]
    mix = np.add.reduceat(ratios, window.bounds[:-1]) / pieces.tokens
    for name, value, share in (("copies", own, own), ("token_mix", mix, np.clip(mix / max(1e-9, mix.max()), 0, 1))):
        finding = known[name]
        strength = min(finding.strength, STRONGEST) if finding.rank <= 50 else 0.0
        scores.append(strength * share)
        values.append(value)
        rarities.append(np.ones(len(pieces)))
        reasons.append(name)
    for finding in findings:
        kind, _, label = finding.name.partition(" ")
        if kind in CATEGORIES and label and finding.rank <= 50:
            inside = np.array([str(value) == label for value in window.labels[kind].tolist()])
            scores.append(np.where(inside, min(finding.strength, STRONGEST) * (1 - finding.typical), 0.0))
            values.append(np.full(len(pieces), finding.value))
            rarities.append(np.ones(len(pieces)))
            reasons.append(finding.name)
    table = np.nan_to_num(np.array(scores)) * np.minimum(1.0, pieces.tokens / LEAST_TOKENS)
    best = table.argmax(axis=0)
    return _ranked(window, table, best, np.array(values), np.array(rarities), reasons, number)


def _tail(values: np.ndarray, corpus: np.ndarray, tokens: np.ndarray, *, high: bool) -> np.ndarray:
    """Return for each value which share of the corpus's pieces is as far out on that side; 1 where it is NaN."""
    others = np.sort(corpus[(tokens >= LEAST_TOKENS) & ~np.isnan(corpus)])
    if not len(others):
        return np.ones(len(values))
    place = np.searchsorted(others, values, side="left" if high else "right")
    out = len(others) - place if high else place
    return np.where(np.isnan(values), 1.0, (out + 1) / (len(others) + 1))


def _ranked(
    window: Window,
    table: np.ndarray,
    best: np.ndarray,
    values: np.ndarray,
    rarities: np.ndarray,
    reasons: list[str],
    number: int,
) -> list[Suspect]:
    """Return the documents by the score of their worst piece; ties by what else speaks against them, then by tokens."""
    pieces = window.pieces
    top = table.max(axis=0)
    order = np.lexsort((-pieces.tokens, -table.sum(axis=0), -np.round(top, 6)))
    keys = document_keys(pieces)
    found: dict[int, Suspect] = {}
    for row in order.tolist():
        key = int(keys[row])
        if key in found:
            continue
        if len(found) == number:
            break
        mine = keys == key
        found[key] = Suspect(
            part=int(pieces.part[row]),
            document=int(pieces.document[row]),
            sample=int(pieces.row[mine].min()),
            tokens=int(pieces.tokens[mine].sum()),
            score=float(top[row]),
            reason=reasons[best[row]],
            value=float(values[best[row], row]),
            rarity=float(rarities[best[row], row]),
            piece=row,
        )
    return list(found.values())
