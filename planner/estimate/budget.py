"""The measured corpus: what `token_budget.json` says, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.errors import PlanError, not_negative, positive, whole


@dataclass(frozen=True)
class Corpus:
    """Totals of a corpus: `tokens` is (vocabulary size, tokens) in rising order of size."""

    documents: float
    text_bytes: float
    tokens: tuple[tuple[int, float], ...]
    cpu_seconds: float | None = None
    """CPU time that preparing it took, from the run's own tally."""
    recipe: str = ""
    languages: tuple[tuple[str, float], ...] = ()
    """(language, tokens at the largest vocabulary), most first."""

    def at(self, vocab: int) -> float:
        """Tokens at a measured size. Raises PlanError naming the sizes there are."""
        table = dict(self.tokens)
        if vocab not in table:
            raise PlanError(f"vocab_size: {vocab} was not measured; the budget has {', '.join(str(v) for v in table)}")
        return table[vocab]

    @property
    def largest(self) -> int:
        """The largest measured vocabulary."""
        return self.tokens[-1][0]

    def scaled(self, factor: float) -> Corpus:
        """The corpus as a sample of one `factor` times as large."""
        cpu = None if self.cpu_seconds is None else self.cpu_seconds * factor
        tokens = tuple((v, t * factor) for v, t in self.tokens)
        languages = tuple((name, t * factor) for name, t in self.languages)
        return Corpus(self.documents * factor, self.text_bytes * factor, tokens, cpu, self.recipe, languages)


def corpus_from(budget: Mapping[str, Any], place: str = "budget") -> Corpus:
    """A Corpus from the dict of `token_budget.json`.

    Raises PlanError when a part is missing, the budget has no tokenizer, or a total is not above zero.
    """
    corpus = budget.get("corpus")
    if not isinstance(corpus, Mapping):
        raise PlanError(f"{place}.corpus: missing; is this a token_budget.json?")
    tokenizers = budget.get("tokenizers")
    if not tokenizers:
        raise PlanError(f"{place}.tokenizers: empty, so no token total is known; train and count a tokenizer first")
    rows = [_row(f"{place}.tokenizers[{i}]", t) for i, t in enumerate(tokenizers)]
    if len({v for v, _ in rows}) != len(rows):
        raise PlanError(f"{place}.tokenizers: a vocabulary size appears twice")
    cpu = budget.get("cpu_seconds")
    return Corpus(
        documents=not_negative(f"{place}.corpus.documents", corpus.get("documents", 0)),
        text_bytes=not_negative(f"{place}.corpus.bytes", corpus.get("bytes", 0)),
        tokens=tuple(sorted(rows)),
        cpu_seconds=None if cpu is None else not_negative(f"{place}.cpu_seconds", cpu),
        recipe=str(budget.get("recipe", "")),
        languages=_languages(max(tokenizers, key=lambda t: t["vocab_size"])),
    )


def _row(place: str, tokenizer: Any) -> tuple[int, float]:
    if not isinstance(tokenizer, Mapping) or "vocab_size" not in tokenizer or "tokens" not in tokenizer:
        raise PlanError(f"{place}: needs vocab_size and tokens")
    tokens = tokenizer["tokens"]
    if tokens == 0:
        raise PlanError(f"{place}.tokens: the corpus is empty, so there is nothing to plan from")
    return whole(f"{place}.vocab_size", tokenizer["vocab_size"], 2), positive(f"{place}.tokens", tokens)


def _languages(tokenizer: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Tokens by language of one tokenizer's row; empty where it was not counted."""
    found = tokenizer.get("by_language") or {}
    pairs = [
        (str(name), float(row["tokens"]))
        for name, row in found.items()
        if isinstance(row, Mapping) and row.get("tokens")
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))
