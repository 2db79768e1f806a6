"""Vocabulary size from measured token totals, beside the published fits and their spread.

Fits mislead: from 32k to 128k Tao's fitted curve saves 9.1 % of tokens, their own table 6.1 %, Llama 3 19.5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import PlanError, positive, whole
from planner.estimate.arrangement import LOGITS
from planner.facts.vocabulary import APPROACH_3, F_COEFFICIENTS
from planner.model.config import ModelConfig
from planner.model.count import count
from planner.model.flops import attention_flops


@dataclass(frozen=True)
class VocabularyRow:
    """One measured size for a model family: tokens of the whole text, FLOPs to train on it once, sizes."""

    vocab: int
    tokens: float
    tokens_per_document: float | None
    bytes_per_token: float | None
    parameters: int
    flops: float
    flops_relative: float
    """Against the cheapest size."""
    logits_bytes_per_sequence: float
    tokens_per_parameter: float


@dataclass(frozen=True)
class VocabularyAnswer:
    """The measured rows, where FLOPs are least (interpolated), and the region within `flat` of it."""

    rows: tuple[VocabularyRow, ...]
    best_vocab: int
    flat_low: int
    flat_high: int
    flat: float
    at_edge: bool
    """The least is at the largest or smallest size measured: the true one may lie outside."""
    published: tuple[tuple[str, float], ...]


def tokens_per_character(vocab: float) -> float:
    """f(V) = a ln(V)^2 + b ln(V) + c (Tao 2024)."""
    a, b, c = F_COEFFICIENTS
    log = math.log(positive("vocab", vocab))
    return a * log * log + b * log + c


def fixed_text_flops(vocab: float, non_vocabulary: float, hidden: float, characters: float = 1.0) -> float:
    """6 (Nnv + V d) H f(V): FLOPs to train once on a text of H characters."""
    return 6 * (non_vocabulary + vocab * hidden) * characters * tokens_per_character(vocab)


def approach_1(non_vocabulary: float) -> float:
    """Loss-optimal vocabulary parameters by iso-FLOP fits: exp(-1.589) F^0.4164, F = (Nnv / exp(-2.4847))^2."""
    flops = (non_vocabulary / math.exp(-2.484651016)) ** 2
    return math.exp(-1.589031299) * flops**0.416362263


def approach_2(non_vocabulary: float) -> float:
    """Loss-optimal vocabulary parameters by derivative: 3145728 (Nnv / 33e6)^0.8354."""
    return 3145728 * (non_vocabulary / 33e6) ** 0.8353974


def approach_3(non_vocabulary: float, hidden: float, flops: float | None = None) -> float:
    """Loss-optimal vocabulary SIZE by the parametric loss, at the compute that makes Nnv optimal (approach3_isoloss.py).

    The root of d/dV of A2 / (V d)^a2 + B / (F / (6 (Nnv + V d)))^beta, found by bisection in log V; as fitted, Nnv is
    in millions, V and d in thousands, F in 1e15.
    """
    p = APPROACH_3
    n, d = non_vocabulary / 1e6, hidden / 1e3
    f = (flops if flops is not None else (non_vocabulary / math.exp(-2.484651016)) ** 2) / 1e15

    def slope(v: float) -> float:
        data = f / (6 * (n + v * d))
        pull = p["beta"] * p["B"] * f * d / (6 * (n + v * d) ** 2) / data ** (p["beta"] + 1)
        return pull - p["alpha2"] * p["A2"] * d / (v * d) ** (p["alpha2"] + 1)

    low, high = 0.01, 1e5
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 1000 * math.sqrt(low * high)


def interpolate(vocabs: ArrayLike, tokens: ArrayLike, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tokens at sizes between measured ones: monotone cubic (Fritsch-Carlson) of log tokens in log V, so that the
    minimum of a cost does not stick to a measured size."""
    x, y = np.log(np.asarray(vocabs, float)), np.log(np.asarray(tokens, float))
    if len(x) < 3:
        return np.exp(np.interp(np.log(at), x, y))
    h = np.diff(x)
    secant = np.diff(y) / h
    before, after = secant[:-1], secant[1:]
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    same = before * after > 0
    slope = np.concatenate([secant[:1], np.zeros(len(x) - 2), secant[-1:]])
    slope[1:-1][same] = ((w1 + w2) / (w1 / np.where(same, before, 1) + w2 / np.where(same, after, 1)))[same]
    i = np.clip(np.searchsorted(x, np.log(at)) - 1, 0, len(x) - 2)
    t = (np.log(at) - x[i]) / h[i]
    left = (1 + 2 * t) * (1 - t) ** 2 * y[i] + t * (1 - t) ** 2 * h[i] * slope[i]
    right = t**2 * (3 - 2 * t) * y[i + 1] + t**2 * (t - 1) * h[i] * slope[i + 1]
    return np.exp(left + right)


def flops_by_vocab(
    c: ModelConfig, seq: int, vocab: NDArray[np.float64], tokens: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(6 (N_matmul without head + V h) + 3 x attention) x tokens(V): FLOPs to read one fixed text once."""
    n = count(c)
    body = n.matmul - (n.embedding if n.tied else n.head)
    return (6 * (body + vocab * c.hidden) + 3 * attention_flops(c, seq)) * tokens


def answer(
    c: ModelConfig,
    seq: int,
    measured: Sequence[tuple[int, float]],
    documents: float | None = None,
    text_bytes: float | None = None,
    flat: float = 0.01,
) -> VocabularyAnswer:
    """FLOPs, parameters, logits and tokens per document for every measured size, and the cheapest.

    `measured` is (vocabulary size, tokens of the whole corpus). Raises PlanError when empty or not falling.
    """  # fmt: skip
    if not measured:
        raise PlanError("budget: it has no tokenizer, so there are no token totals to plan from")
    pairs = sorted((whole("vocab_size", v, 2), positive("tokens", t)) for v, t in measured)
    vocabs = np.array([v for v, _ in pairs], float)
    tokens = np.array([t for _, t in pairs], float)
    cost = flops_by_vocab(c, seq, vocabs, tokens)
    grid = np.unique(np.concatenate([np.geomspace(vocabs[0], vocabs[-1], 2000), vocabs]))
    curve = flops_by_vocab(c, seq, grid, interpolate(vocabs, tokens, grid))
    best = int(np.argmin(curve))
    near = grid[curve <= curve[best] * (1 + flat)]
    rows = tuple(
        _row(c.with_vocab(int(v)), seq, float(t), float(f), float(f / cost.min()), documents, text_bytes)
        for v, t, f in zip(vocabs, tokens, cost, strict=True)
    )
    edge = len(grid) == 1 or best in (0, len(grid) - 1)
    return VocabularyAnswer(rows, round(grid[best]), round(near[0]), round(near[-1]), flat, edge, published(c))


def _row(
    c: ModelConfig,
    seq: int,
    tokens: float,
    flops: float,
    relative: float,
    documents: float | None,
    text_bytes: float | None,
) -> VocabularyRow:
    total = count(c).total
    return VocabularyRow(
        vocab=c.vocab, tokens=tokens, tokens_per_document=tokens / documents if documents else None,
        bytes_per_token=text_bytes / tokens if text_bytes else None, parameters=total, flops=flops, flops_relative=relative,
        logits_bytes_per_sequence=LOGITS["unfused"] * seq * c.vocab, tokens_per_parameter=tokens / total,
    )  # fmt: skip


def published(c: ModelConfig) -> tuple[tuple[str, float], ...]:
    """What the published fits say for this model's non-vocabulary parameters: four answers, and they disagree."""
    non_vocabulary = float(count(c).non_embedding)
    grid = np.geomspace(1024, 200_000, 2000)
    fitted = [fixed_text_flops(v, non_vocabulary, c.hidden) for v in grid]
    return (
        ("least FLOPs by the fitted f(V)", float(grid[int(np.argmin(fitted))])),
        ("least loss, approach 1", approach_1(non_vocabulary) / c.hidden),
        ("least loss, approach 2", approach_2(non_vocabulary) / c.hidden),
        ("least loss, approach 3", approach_3(non_vocabulary, c.hidden)),
    )
