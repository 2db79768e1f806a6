"""Time, money and energy of a run, and what moves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.errors import PlanError, positive, share, whole
from planner.units import DAY, HOUR


def gpu_seconds(flops: float, peak: float, utilisation: float) -> float:
    """Device-seconds for `flops` at a share of a dense peak in FLOP/s."""
    return positive("flops", flops) / (positive("peak", peak) * share("utilisation", utilisation))


def days(flops: float, peak: float, utilisation: float, gpus: float) -> float:
    """C / (peak x MFU x GPUs x 86400)."""
    return gpu_seconds(flops, peak, utilisation) / (positive("gpus", gpus) * DAY)


def days_recompute(tokens: float, parameters: float, gpus: float, achieved: float) -> float:
    """8 T P / (n X) in days, X achieved hardware FLOP/s per GPU (Narayanan 2021, equation 4)."""
    return 8 * tokens * parameters / (positive("gpus", gpus) * positive("achieved", achieved)) / DAY


def energy_kwh(gpu_hours: float, watts: float, pue: float = 1.1) -> float:
    """Device-hours x board power x PUE, in kWh (the accounting of LLaMA Table 15, PUE 1.1). Hosts are not in it."""
    if pue < 1:
        raise PlanError(f"pue: must be at least 1, not {pue}")
    return gpu_hours * watts / 1000 * pue


@dataclass(frozen=True)
class Ramp:
    """A batch-size schedule: (sequences per step, steps) in order, at one sequence length."""

    stages: tuple[tuple[int, int], ...]
    seq: int

    @property
    def steps(self) -> int:
        """All optimizer steps."""
        return sum(steps for _, steps in self.stages)

    @property
    def tokens(self) -> int:
        """sum(steps x batch) x T (PaLM section 5)."""
        return sum(batch * steps for batch, steps in self.stages) * self.seq

    def slowdown(self, replicas: int, stages: int = 1) -> float:
        """Time relative to running every token at the last batch size, on the same devices.

        `replicas` data-parallel groups of `stages` pipeline stages each see batch / replicas micro-batches, so a
        small early batch pays a larger bubble (P - 1)/(M + P - 1), and below one sequence a replica stands idle.
        """
        whole("replicas", replicas)
        last = self._speed(self.stages[-1][0], replicas, stages)
        spent = sum(batch * steps / self._speed(batch, replicas, stages) for batch, steps in self.stages)
        return spent * last / sum(batch * steps for batch, steps in self.stages)

    @staticmethod
    def _speed(batch: int, replicas: int, stages: int) -> float:
        busy = min(1.0, batch / replicas)
        micro = max(1.0, batch / replicas)
        return busy * micro / (micro + stages - 1)


def ramp_steps(schedule: Sequence[tuple[float, float]]) -> float:
    """Steps of a schedule given as (batch in tokens, tokens seen when it ends), in order (Llama 3 section 3.4.1)."""
    steps, seen = 0.0, 0.0
    for batch, until in schedule:
        if until <= seen:
            raise PlanError(f"ramp: {until:g} tokens ends before the stage ahead of it ({seen:g})")
        steps += (until - seen) / positive("batch", batch)
        seen = until
    return steps


@dataclass(frozen=True)
class Move:
    """One of the four ways to shorten a run: the quantity now, and what it must be for the target."""

    name: str
    unit: str
    now: float
    then: float
    changes_model: bool
    possible: bool
    note: str


def four_moves(
    *,
    days_now: float,
    days_wanted: float,
    tokens: float,
    parameters: float,
    gpus: int,
    utilisation: float,
    ceiling: float,
) -> tuple[Move, ...]:
    """What each of the four moves must be for the run to take `days_wanted`.

    Time goes as tokens x parameters / (GPUs x utilisation). The first two change the model, the others only the bill.
    """
    ratio = positive("days now", days_now) / positive("days wanted", days_wanted)
    needed = utilisation * ratio
    reach = (
        "same model, smaller bill"
        if needed <= ceiling
        else f"above {ceiling:.2f}, the best published for this kind of run"
    )
    return (
        Move("fewer tokens", "tokens", tokens, tokens / ratio, True, True, "a less trained model"),
        Move("fewer parameters", "parameters", parameters, parameters / ratio, True, True, "a smaller model"),
        Move("more GPUs", "gpus", gpus, _ceil(gpus * ratio), False, True, "same GPU-hours if MFU holds, and it falls"),
        Move("more MFU", "share", utilisation, needed, False, needed <= ceiling, reach),
    )  # fmt: skip


def _ceil(value: float) -> int:
    return int(-(-value // 1))


def hours(seconds: float) -> float:
    """Seconds as hours."""
    return seconds / HOUR
