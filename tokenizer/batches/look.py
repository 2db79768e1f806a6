"""What was in a window of steps, and how unusual it was: its rank among random windows of the same size.

Every window is looked at through the same number of samples, spread evenly over it. Of each piece of a document that
these read, signals are measured on the tokens (`look_kernel`); a window's value is their mean by tokens. Beside them stand
the shares of languages, sources and domains, of what stands in two documents of the window, how far its tokens are from
the corpus's, and how long its documents are.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenizer.batches.look_kernel import SIGNALS, copied_tokens, count_pairs, measure_pieces
from tokenizer.batches.pieces import Pieces
from tokenizer.batches.samplers import ENDLESS
from tokenizer.batches.training import Training

WINDOWS = 1000
BUDGET_TOKENS = 48_000_000
"""Tokens that the random windows are looked at through, together, about."""
TOGETHER = 250
"""Random windows that are read at once."""
MODEL_TOKENS = 4_000_000
BIGRAM_CELLS = 1 << 23
CATEGORIES = ("language", "source", "domain")
MOST_OF_A_CATEGORY = 12
"""Languages, sources and domains of the window that are compared, the largest first."""
LOWER_TOO = frozenset({"bytes_per_token", "rarity", "document_tokens"})
"""What is unusual where it is low as well."""


@dataclass(frozen=True)
class Window:
    """Samples that were read.

    Attributes:
        pieces: of documents.
        tokens: of all pieces, one behind the other; piece k has ``tokens[bounds[k]:bounds[k + 1]]``.
        signals: float64, pieces x `SIGNALS`.
        labels: language, source and domain of each piece.
        document_tokens: tokens of the whole document of each piece.
    """

    pieces: Pieces
    tokens: np.ndarray
    bounds: np.ndarray
    signals: np.ndarray
    labels: dict[str, np.ndarray]
    document_tokens: np.ndarray


@dataclass(frozen=True)
class Finding:
    """One thing about a window.

    Attributes:
        name: a signal, or ``language en`` and the like.
        value: of the window.
        typical: median of the random windows.
        rank: 1 where no random window is as far out on that side, of `windows` + 1.
        strength: how many times farther than usual it is from the typical value (robust z-score).
    """

    name: str
    value: float
    typical: float
    rank: int
    windows: int
    strength: float

    @property
    def high(self) -> bool:
        """Whether the value is above what is typical."""
        return self.value >= self.typical


class Looker:
    """Looks at windows of one training.

    Args:
        facts: of the tokens (`token_facts.token_facts`).
        samples: how many random samples the corpus is known by for suspects.
        seed: of the random windows.
    """

    def __init__(self, training: Training, facts: np.ndarray, seed: int = 0):
        self.training = training
        self.facts = facts
        self._random = np.random.default_rng(seed)
        sampler = training.sampler
        self.samples = sampler.samples if sampler.samples < ENDLESS else 1 << 24
        model = self._drawn(min(self.samples, MODEL_TOKENS // sampler.reads + 1))
        self.unigrams = np.zeros(len(facts), np.int64)
        self.bigrams = np.zeros(BIGRAM_CELLS, np.int32)
        pieces = sampler.pieces(model)
        tokens, bounds = self._read(pieces)
        count_pairs(tokens, bounds, self.unigrams, self.bigrams)
        self.corpus = self._window(pieces, tokens, bounds)

    def _drawn(self, number: int) -> np.ndarray:
        if self.samples <= 4 * number:
            return np.sort(self._random.permutation(self.samples)[:number])
        return np.unique(self._random.integers(0, self.samples, number))

    def _read(self, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum(pieces.tokens, out=bounds[1:])
        tokens = np.empty(int(bounds[-1]), np.int32)
        for number in np.unique(pieces.part).tolist():
            part, mine = self.training.sampler.parts[number], np.flatnonzero(pieces.part == number)
            starts = part.ends[pieces.document[mine]] - part.lengths[pieces.document[mine]] + pieces.offset[mine]
            for k, read in zip(mine.tolist(), part.tokens(starts, pieces.tokens[mine]), strict=True):
                tokens[bounds[k] : bounds[k + 1]] = read
        return tokens, bounds

    def window(self, samples: np.ndarray) -> Window:
        """Return what `samples` (int64, ascending) read."""
        pieces = self.training.sampler.pieces(samples)
        return self._window(pieces, *self._read(pieces))

    def _window(self, pieces: Pieces, tokens: np.ndarray, bounds: np.ndarray) -> Window:
        signals = np.empty((len(pieces), len(SIGNALS)))
        measure_pieces(tokens, bounds, self.facts, self.unigrams, self.bigrams, signals)
        rows = self.training.rows(pieces, ("language", "source", "url"))
        labels = {name: np.array(rows[name].to_pylist(), object) for name in ("language", "source")}
        labels["domain"] = np.array([domain_of(url) for url in rows["url"].to_pylist()], object)
        lengths = np.zeros(len(pieces), np.int64)
        for number in np.unique(pieces.part).tolist():
            mine = pieces.part == number
            lengths[mine] = self.training.sampler.parts[number].lengths[pieces.document[mine]]
        return Window(pieces, tokens, bounds, signals, labels, lengths)

    def look(self, first: int, last: int, windows: int = WINDOWS) -> tuple[Window, list[Finding]]:
        """Return what samples `first` to `last` (not included) read, and how unusual it is, the most unusual first."""
        number = last - first
        seen = int(np.clip(BUDGET_TOKENS // (windows * self.training.sampler.reads), 1, number))
        spread = (np.arange(seen) * number) // seen
        mine = self.window(np.arange(first, last))
        ours = part_of(mine, np.flatnonzero(np.isin(mine.pieces.row, spread))) if seen < number else mine
        wanted = _categories(ours)
        values: list[dict[str, float]] = []
        shares: list[list[float]] = []
        for window in self._random_windows(self._other_starts(first, last, windows), spread):
            values.append(self._values(window))
            shares.append(_to_compare(window, wanted))
        findings = [
            _finding(name, value, np.array([other[name] for other in values]))
            for name, value in self._values(ours).items()
        ]
        findings += [
            _finding(f"{kind} {label}", share, np.array([other[k] for other in shares]), only_high=True)
            for k, ((kind, label), share) in enumerate(zip(wanted, _shares(ours, wanted), strict=True))
        ]
        return mine, sorted(findings, key=lambda found: (found.rank, -found.strength))

    def _random_windows(self, starts: np.ndarray, spread: np.ndarray) -> Iterator[Window]:
        """Yield the windows that begin at `starts`, read together."""
        for begin in range(0, len(starts), TOGETHER):
            some = np.sort(starts)[begin : begin + TOGETHER]
            read = np.unique(some[:, None] + spread)
            window = self.window(read)
            for start in some:
                rows = np.searchsorted(read, start + spread)
                yield part_of(window, np.flatnonzero(np.isin(window.pieces.row, rows)))

    def _other_starts(self, first: int, last: int, windows: int) -> np.ndarray:
        """Return where random windows begin that share no sample with ours."""
        number = last - first
        before, behind = max(0, first - number + 1), max(0, self.samples - number - last + 1)
        if before + behind == 0:
            return np.zeros(0, np.int64)
        drawn = self._random.integers(0, before + behind, windows)
        return np.where(drawn < before, drawn, drawn - before + last)

    def _values(self, window: Window) -> dict[str, float]:
        """Return the value of everything about a window that is no share of a category."""
        weights = window.pieces.tokens.astype(float)
        found = {}
        for k, name in enumerate(SIGNALS):
            known = ~np.isnan(window.signals[:, k])
            found[name] = float(np.average(window.signals[known, k], weights=weights[known])) if known.any() else np.nan
        copied = np.zeros(len(window.pieces), np.int64)
        copied_tokens(window.tokens, window.bounds, document_keys(window.pieces), copied)
        found["copies"] = float(copied.sum() / max(1.0, weights.sum()))
        found["document_tokens"] = float(np.average(np.log2(window.document_tokens), weights=weights))
        found["token_mix"] = self.divergence(window)
        return found

    def ratios(self, window: Window) -> np.ndarray:
        """Return, of each token, the bits by which it is more frequent in `window` than in the corpus; 0 if it is not there."""
        mine = np.bincount(window.tokens, minlength=len(self.unigrams)).astype(float)
        here = mine / max(1.0, mine.sum())
        there = (self.unigrams + mine) / (self.unigrams.sum() + mine.sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(mine > 0, np.log2(here / there), 0.0)

    def divergence(self, window: Window) -> float:
        """Return how far the tokens of `window` are from the corpus's: bits a token (Kullback-Leibler)."""
        return float(self.ratios(window)[window.tokens].mean()) if len(window.tokens) else 0.0


def part_of(window: Window, rows: np.ndarray) -> Window:
    """Return the pieces of `window` in `rows`."""
    pieces = window.pieces
    lengths = pieces.tokens[rows]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    index = np.concatenate([np.zeros(0, np.int64), *(np.arange(window.bounds[k], window.bounds[k + 1]) for k in rows)])
    chosen = Pieces(pieces.row[rows], pieces.part[rows], pieces.document[rows], pieces.offset[rows], lengths)
    labels = {name: values[rows] for name, values in window.labels.items()}
    return Window(chosen, window.tokens[index], bounds, window.signals[rows], labels, window.document_tokens[rows])


def document_keys(pieces: Pieces) -> np.ndarray:
    """Return a number above 0 that tells the document of each piece from the others."""
    return (pieces.part << 40) + pieces.document + 1


def domain_of(url: str | None) -> str | None:
    """Return the host of `url` without ``www.``; None where there is none."""
    try:
        host = urllib.parse.urlsplit(url or "").hostname
    except ValueError:
        return None
    return host.removeprefix("www.") if host else None


def _categories(
    window: Window, kinds: Sequence[str] = CATEGORIES, most: int = MOST_OF_A_CATEGORY
) -> list[tuple[str, Any]]:
    """Return the `most` languages, sources and domains that have the largest shares of a window."""
    found: list[tuple[str, Any]] = []
    for kind in kinds:
        sums: dict[Any, int] = {}
        for label, tokens in zip(window.labels[kind].tolist(), window.pieces.tokens.tolist(), strict=True):
            if label is not None:
                sums[label] = sums.get(label, 0) + tokens
        largest = sorted(sums, key=lambda label: (-sums[label], str(label)))[:most]
        found += [(kind, label) for label in largest]
    return found


def _shares(window: Window, wanted: list[tuple[str, Any]]) -> list[float]:
    total = max(1, int(window.pieces.tokens.sum()))
    return [float(window.pieces.tokens[window.labels[kind] == label].sum() / total) for kind, label in wanted]


def _to_compare(window: Window, wanted: list[tuple[str, Any]]) -> list[float]:
    """Return what the shares of `wanted` are held against in a random window: its own of the same, or, of domains, of
    which nearly all are rare and each window has its own, its largest."""
    shares = _shares(window, wanted)
    largest = max(_shares(window, _categories(window, ("domain",), 1)), default=0.0)
    return [largest if kind == "domain" else share for (kind, _), share in zip(wanted, shares, strict=True)]


def _finding(name: str, value: float, others: np.ndarray, *, only_high: bool = False) -> Finding:
    """Return how far out `value` is among `others`, on the side that it is on."""
    others = others[~np.isnan(others)]
    if np.isnan(value) or not len(others):
        return Finding(name, value, np.nan, len(others) + 1, len(others), 0.0)
    typical = float(np.median(others))
    away = value - typical
    if away < 0 and (only_high or name not in LOWER_TOO):
        return Finding(name, value, typical, len(others) + 1, len(others), 0.0)
    rank = 1 + int((others >= value).sum() if away >= 0 else (others <= value).sum())
    spread = 1.4826 * float(np.median(np.abs(others - typical)))
    # where more than half of the windows agree, or nearly, what is usual is told from those that do not
    spread = max(spread, 0.25 * float(others.std()), 0.01 if only_high else 1e-3 * max(1.0, abs(typical)))
    return Finding(name, value, typical, rank, len(others), abs(away) / spread)
