"""The way back: from a cluster and its days, or a measured corpus, to the model that is worth training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from planner.errors import PlanError
from planner.estimate.arrangement import Layout
from planner.estimate.defaults import batch_sequences
from planner.estimate.inputs import PlanInputs
from planner.estimate.layout import RECOMPUTE, SearchSpace, search
from planner.estimate.repetition import effective_tokens
from planner.estimate.scaling import Law, kaplan_parameters, law_reach, llama3_tokens, refit, rule_of_twenty, sampled
from planner.estimate.schedule import memory_options, schedule
from planner.estimate.uncertainty import Interval, interval
from planner.model.config import ModelConfig
from planner.model.count import count
from planner.model.shapes import shape_for

RATIOS = (8.0, 4.0, 2.0, 1.4, 1.0, 0.7, 0.5, 0.25, 0.125)
"""Sizes of the same-compute curve over the optimum."""


@dataclass(frozen=True)
class LawAnswer:
    """What one law makes of the compute. The loss is by the corrected Chinchilla law, None outside its range."""

    law: str
    parameters: Interval
    tokens: Interval
    loss: Interval | None
    reach: str
    note: str


@dataclass(frozen=True)
class Allocation:
    """One point of the same-compute curve: loss in nats, and what it costs over the optimum's."""

    ratio: float
    parameters: float
    tokens: float
    loss: float | None
    above_optimum: float | None
    reach: str
    lifetime_flops: float | None
    """Training and 2 N for every served token, where those were given."""


@dataclass(frozen=True)
class CorpusAnswer:
    """What the measured tokens allow at the optimum. Tokens and parameters."""

    unique: float
    epochs: float
    effective: float
    suits: float
    """Size whose compute-optimal training these tokens are."""
    missing: float
    """Unique tokens short of the optimum at four epochs, which cost little."""
    languages: tuple[tuple[str, float, float, float], ...]
    """(language, tokens, wanted at this mix, missing at four epochs)."""


@dataclass(frozen=True)
class WayBack:
    """The answer: compute available, what to train with it, and other allocations of the same compute."""

    inputs: PlanInputs
    days: float
    days_from: str
    flops: Interval
    shape: ModelConfig
    layout: Layout
    fits: bool
    laws: tuple[LawAnswer, ...]
    curve: tuple[Allocation, ...]
    corpus: CorpusAnswer | None


FREE_EPOCHS = 4.0
"""Epochs that are worth nearly as much as fresh tokens: 93 % (Muennighoff 2023)."""


def way_back(i: PlanInputs) -> WayBack:
    """The model for a cluster. `i` is of `cluster_from`; its model stands in and is replaced.

    Raises PlanError when even the smallest compute is below any model.
    """
    law = refit()
    if i.days is not None:
        days, source = i.days, "given"
        flops, shape, layout, fits = _compute(i, law, days)
    else:
        unique = i.unique
        wanted = 6 * float(law.optimal_parameters(unique)) * unique
        flops, shape, layout, fits = _compute(i, law, 1.0, wanted)
        days, source = wanted / flops.p50, "what the corpus, read once, is the optimum of"
        flops = Interval(*(v * days for v in (flops.p10, flops.p50, flops.p90)))
    rng = np.random.default_rng([i.seed, 7])
    spread = math.log(flops.p90 / flops.p10) / 2.5631 if flops.p90 > flops.p10 else 0.0
    draws = flops.p50 * np.exp(spread * rng.standard_normal(i.samples))
    laws = _laws(draws, flops, sampled(i.samples, rng))
    return WayBack(
        inputs=i, days=days, days_from=source, flops=flops, shape=shape, layout=layout, fits=fits, laws=laws,
        curve=_curve(law, flops.p50, i.served_tokens), corpus=_corpus(i, law, laws[0]),
    )  # fmt: skip


def _compute(
    i: PlanInputs, law: Law, days: float, wanted: float | None = None
) -> tuple[Interval, ModelConfig, Layout, bool]:
    """(6 N D to be had in `days`, the optimum's shape, its layout, whether it fits), by the forecast of that shape."""
    vocab = i.corpus.largest if i.corpus else None
    flops = wanted or 0.4 * i.peak * i.gpus * days * 86400
    found: tuple[Interval, ModelConfig, Layout, bool] | None = None
    for _ in range(3):
        size = max(float(law.optimum(flops)[0]), 2e6)
        shape = shape_for(size, vocab or (128256 if size >= 3e9 else 32000 if size >= 3e8 else 4096), i.seq)
        tokens = flops / 6 / count(shape).total
        batch = i.global_batch or batch_sequences(tokens, i.seq, i.gpus)
        trial = replace(i, model=shape, tokens=tokens, unique_tokens=None, global_batch=batch, samples=4000)
        space = SearchSpace(gpus=i.gpus, global_batch=batch, recompute=(i.recompute,) if i.recompute else RECOMPUTE)
        search_ = search(shape, i.device, space, memory_options(trial), i.dtype)
        layout = search_.pareto[0].layout if search_.pareto else search_.leanest
        times = schedule(trial, layout)
        done = 6 * count(shape).total * tokens
        found = (
            Interval(*(done * days / d for d in (times.days.p90, times.days.p50, times.days.p10))),
            shape,
            layout,
            bool(search_.pareto),
        )
        if wanted is not None:
            break
        flops = found[0].p50
    if found is None:
        raise PlanError("plan: no model is small enough for this cluster and its days")
    return found


def _laws(draws: np.ndarray[tuple[int], np.dtype[np.float64]], flops: Interval, law: Law) -> tuple[LawAnswer, ...]:
    n, d = law.optimum(draws)
    reach = law_reach(float(np.median(n)), float(np.median(d)))
    loss = None if reach == "outside" else interval(law.loss(n, d))
    answers = [
        LawAnswer("Chinchilla, corrected", interval(n), interval(d), loss, reach, "Hoffmann 2022 as refit by Besiroglu 2024; total parameters")
    ]  # fmt: skip
    ends = (flops.p10, flops.p50, flops.p90)
    twenty = [rule_of_twenty(c) for c in ends]
    llama = [(c / 6 / llama3_tokens(c), llama3_tokens(c)) for c in ends]
    kaplan = [(kaplan_parameters(c), c / 6 / kaplan_parameters(c)) for c in ends]
    for name, pairs, note in (
        ("20 tokens per parameter", twenty, "the rule of thumb of Hoffmann 2022"),
        ("Llama 3", llama, "D = 0.299 C^0.537, the figure's digits (the printed ones give less)"),
        ("Kaplan", kaplan, "2020, non-embedding; superseded: too large on too few tokens"),
    ):
        size = Interval(*sorted(p[0] for p in pairs))
        tokens = Interval(*sorted(p[1] for p in pairs))
        where = law_reach(size.p50, tokens.p50)
        said = None if where == "outside" else interval(law.loss(size.p50, tokens.p50))
        answers.append(LawAnswer(name, size, tokens, said, where, note))
    return tuple(answers)


def _curve(law: Law, flops: float, served: float | None) -> tuple[Allocation, ...]:
    best, tokens = (float(v) for v in law.optimum(flops))
    least = float(law.loss(best, tokens))
    rows = []
    for ratio in RATIOS:
        n, d = ratio * best, flops / (6 * ratio * best)
        reach = law_reach(n, d)
        loss = None if reach == "outside" else float(law.loss(n, d))
        life = None if served is None else flops + 2 * n * served
        rows.append(Allocation(ratio, n, d, loss, None if loss is None else loss - least, reach, life))
    return tuple(rows)


def _corpus(i: PlanInputs, law: Law, best: LawAnswer) -> CorpusAnswer | None:
    if i.corpus is None:
        return None
    unique, wanted = i.unique, best.tokens.p50
    epochs = wanted / unique
    total = sum(t for _, t in i.corpus.languages)
    rows = []
    for name, tokens in i.corpus.languages[:12]:
        mine = wanted * tokens / total
        have = tokens * unique / total
        rows.append((name, have, mine, max(0.0, mine / FREE_EPOCHS - have)))
    return CorpusAnswer(
        unique=unique, epochs=epochs, effective=effective_tokens(unique, epochs), suits=float(law.optimal_parameters(unique)),
        missing=max(0.0, wanted / FREE_EPOCHS - unique), languages=tuple(rows),
    )  # fmt: skip
