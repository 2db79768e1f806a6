"""Spikes in a log of losses: robust z-scores on the series without its trend."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

import numpy as np

from pipeline.errors import InputError

WINDOW = 101
"""Steps over which the trend and the usual spread are medians."""
THRESHOLD = 6.0
APART = 10
"""Spikes with fewer quiet steps between them are one."""
NAMES = {
    "step": ("step", "iteration", "iter", "global_step"),
    "loss": ("loss", "lm loss", "train_loss", "train/loss", "lm_loss"),
    "gradient norm": ("gradient_norm", "grad_norm", "grad norm", "gradient norm", "grad-norm", "train/grad_norm"),
}


@dataclass(frozen=True)
class Losses:
    """A log: steps (int64, ascending), loss and gradient norm (NaN where the log has none) of each."""

    steps: np.ndarray
    loss: np.ndarray
    norm: np.ndarray


@dataclass(frozen=True)
class Spike:
    """A run of steps that stand out.

    Attributes:
        first, last: steps; `last` is not included.
        peak: the step that is farthest out.
        z: its robust z-score.
        series: ``loss`` or ``gradient norm``, whichever is farther out.
        value, usual: at the peak, and the trend there.
    """

    first: int
    last: int
    peak: int
    z: float
    series: str
    value: float
    usual: float


def read_losses(data: bytes, name: str) -> Losses:
    """Return the log in a CSV file of columns step, loss and, if it has it, gradient norm.

    Raises:
        InputError: no such columns, or a line that holds no numbers.
    """
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"))))
    rows = [row for row in rows if row]
    if not rows:
        raise InputError(f"{name} is empty; give a CSV file with columns step, loss and gradient norm")
    head = [cell.strip().lower() for cell in rows[0]]
    columns = {
        what: next((head.index(n) for n in names if n in head), None) for what, names in NAMES.items()
    }  # fmt: skip
    body, start = rows[1:], 2
    if columns["step"] is None or columns["loss"] is None:
        if not all(_number(cell) is not None for cell in rows[0][:2]) or len(head) < 2:
            raise InputError(f"{name} has no columns step and loss; its columns are {', '.join(head[:8])}")
        columns = {"step": 0, "loss": 1, "gradient norm": 2 if len(head) > 2 else None}
        body, start = rows, 1
    read = []
    for line, row in enumerate(body, start):
        step, loss = (_cell(row, columns[what]) for what in ("step", "loss"))
        if step is None or loss is None or not step.is_integer():
            raise InputError(f"{name}, line {line}: {','.join(row)[:80]!r} holds no step and loss")
        norm = _cell(row, columns["gradient norm"])
        read.append((int(step), loss, math.nan if norm is None else norm))
    if not read:
        raise InputError(f"{name} holds no steps below its header")
    last = {
        step: (loss, norm) for step, loss, norm in read
    }  # a step trained again after a restart counts as it was last
    steps = sorted(last)
    table = np.array([last[step] for step in steps], float)
    return Losses(np.array(steps, np.int64), table[:, 0], table[:, 1])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _cell(row: list[str], column: int | None) -> float | None:
    return None if column is None or column >= len(row) else _number(row[column])


def scores(values: np.ndarray, window: int = WINDOW) -> tuple[np.ndarray, np.ndarray]:
    """Return robust z-score of each value and the trend there: float64 each.

    The trend is the running median, the usual spread the running median of the distances from it (times 1.4826, the
    standard deviation of normal noise). A value that is no number is out by an infinite amount.
    """
    known = np.where(np.isfinite(values), values, np.nan)
    trend = _running_median(known, window)
    away = known - trend
    spread = 1.4826 * _running_median(np.abs(away), window)
    finite = spread[np.isfinite(spread) & (spread > 0)]
    floor = max(0.2 * float(np.median(finite)) if len(finite) else 0.0, 1e-9)
    z = away / np.maximum(np.nan_to_num(spread), floor)
    return np.where(np.isfinite(values), z, np.where(np.isnan(values) & np.isnan(values).all(), 0.0, np.inf)), trend


def _running_median(values: np.ndarray, window: int) -> np.ndarray:
    half = window // 2
    if not len(values) or np.isnan(values).all():
        return np.full(len(values), np.nan)
    padded = np.concatenate([np.full(half, np.nan), values, np.full(half, np.nan)])
    out = np.empty(len(values))
    for start in range(0, len(values), 10_000):
        views = np.lib.stride_tricks.sliding_window_view(padded[start : start + 10_000 + 2 * half], 2 * half + 1)
        count = min(10_000, len(values) - start)
        sums = np.isfinite(views[:count]).any(axis=1)
        out[start : start + count] = np.nan
        out[start : start + count][sums] = np.nanmedian(views[:count][sums], axis=1)
    return out


def find_spikes(losses: Losses, threshold: float = THRESHOLD) -> list[Spike]:
    """Return the runs of steps whose loss or gradient norm is out by `threshold` or more, the farthest first."""
    found = {"loss": scores(losses.loss)}
    if np.isfinite(losses.norm).any():
        found["gradient norm"] = scores(losses.norm)
    z = np.max([np.nan_to_num(score, nan=0.0, posinf=np.inf) for score, _ in found.values()], axis=0)
    out = np.flatnonzero(z >= threshold)
    runs: list[list[int]] = []
    for place in out.tolist():
        if runs and losses.steps[place] - losses.steps[runs[-1][-1]] <= APART:
            runs[-1].append(place)
        else:
            runs.append([place])
    spikes = []
    for run in runs:
        peak = run[int(np.argmax(z[run]))]
        series = max(found, key=lambda name: found[name][0][peak])
        values = losses.loss if series == "loss" else losses.norm
        first, last = int(losses.steps[run[0]]), int(losses.steps[run[-1]]) + 1
        spikes.append(
            Spike(first, last, int(losses.steps[peak]), float(z[peak]), series, float(values[peak]),
                  float(found[series][1][peak]))
        )  # fmt: skip
    return sorted(spikes, key=lambda spike: (-spike.z, spike.first))
