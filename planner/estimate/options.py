"""The keys of a `[plan]` table: how each is read, what it means, and which belong together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from planner import errors, units
from planner.errors import PlanError, one_of, positive, whole
from planner.estimate.arrangement import LOGITS, OFFLOAD
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.flops import RECOMPUTE

Range = tuple[float, float]


def _number(place: str, value: Any) -> float:
    return units.number(value, place) if isinstance(value, str) else errors.finite(place, value)


def _positive(place: str, value: Any) -> float:
    return positive(place, _number(place, value))


def _not_negative(place: str, value: Any) -> float:
    return errors.not_negative(place, _number(place, value))


def _whole(place: str, value: Any) -> int:
    return whole(place, _number(place, value))


def _stage(place: str, value: Any) -> int:
    number = whole(place, _number(place, value), 0)
    if number > 3:
        raise PlanError(f"{place}: ZeRO has stages 0 to 3, not {number}")
    return number


def _range(place: str, value: Any) -> Range:
    """`0.4`, `[0.3, 0.5]`, `"0.3:0.5"`."""
    parts = value.split(":") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    if len(parts) not in (1, 2):
        raise PlanError(f"{place}: give one number or LOW:HIGH, not {value!r}")
    low, high = _positive(place, parts[0]), _positive(place, parts[-1])
    if low > high:
        raise PlanError(f"{place}: low end {low:g} is above high end {high:g}")
    return low, high


def _stages_of_ramp(place: str, value: Any) -> tuple[tuple[int, int], ...]:
    """`"512:50000,1024:65000"` or `[[512, 50000], [1024, 65000]]`: sequences per step, and for how many steps."""
    rows = [r.split(":") for r in value.split(",")] if isinstance(value, str) else value
    if (
        not isinstance(rows, list | tuple)
        or not rows
        or any(not isinstance(r, list | tuple) or len(r) != 2 for r in rows)
    ):
        raise PlanError(f"{place}: write SEQUENCES:STEPS,SEQUENCES:STEPS in order, not {value!r}")
    return tuple((_whole(place, batch), _whole(place, steps)) for batch, steps in rows)


def _choice(known: Any) -> Callable[[str, Any], str]:
    return lambda place, value: one_of(place, value, known)


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise PlanError(f"{place}: must be a name, not {value!r}")
    return value


def _model_value(place: str, value: Any) -> str | Mapping[str, Any]:
    """A preset's name, or the table of a Hugging Face config (the caller reads the file)."""
    if isinstance(value, Mapping):
        return value
    if _text(place, value).endswith(".json"):
        raise PlanError(f"{place}: {value} has not been read; give the planner the table it holds")
    return str(value)


def _flag(place: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise PlanError(f"{place}: must be true or false, not {value!r}")
    return value


@dataclass(frozen=True)
class Option:
    """One key of the `[plan]` table: how it is read, and what it means."""

    read: Callable[[str, Any], Any]
    help: str


OPTIONS: dict[str, Option] = {
    "model": Option(_model_value, "preset name or path of a Hugging Face config.json"),
    "parameters": Option(_positive, "instead of a model: its size; a Llama-like shape is assumed"),
    "gpu": Option(_text, "accelerator name, or custom with peak and memory"),
    "gpus": Option(_whole, "how many"),
    "peak": Option(_positive, "dense TFLOP/s per GPU, for a custom device or to check your figure"),
    "memory": Option(_positive, "GB per GPU of a custom device"),
    "tokens": Option(_positive, "training tokens; overrides the budget's total"),
    "unique_tokens": Option(_positive, "distinct tokens behind them, when data is repeated"),
    "epochs": Option(_positive, "passes over the budget's corpus"),
    "vocab_size": Option(_whole, "which measured vocabulary to train with; the largest by default"),
    "mfu": Option(_range, "step MFU, LOW:HIGH, by 6 N_matmul + full attention; goodput is applied on top"),
    "calendar_mfu": Option(_range, "6ND / (GPU-hours x peak), LOW:HIGH; goodput is inside"),
    "dtype": Option(_text, "bf16, fp16, fp8, tf32 or fp32"),
    "seq": Option(_whole, "sequence length in tokens"),
    "global_batch": Option(_whole, "sequences per optimizer step"),
    "ramp": Option(_stages_of_ramp, "batch ramp, SEQUENCES:STEPS,SEQUENCES:STEPS,...; gives the tokens too"),
    "tp": Option(_whole, "tensor parallel size; searched when not given, as the next ones"),
    "pp": Option(_whole, "pipeline stages"),
    "cp": Option(_whole, "context parallel size"),
    "ep": Option(_whole, "expert parallel size"),
    "zero": Option(_stage, "ZeRO stage, 0 to 3"),
    "micro_batch": Option(_whole, "sequences per micro-batch and replica"),
    "recompute": Option(_choice(RECOMPUTE), "none, selective, selective-op or full"),
    "optimizer": Option(_choice(MOMENTS), ", ".join(MOMENTS)),
    "convention": Option(_choice(CONVENTIONS), "whose bytes per parameter: " + ", ".join(CONVENTIONS)),
    "logits": Option(_choice(LOGITS), "unfused (12 bytes each, the default), fp32 (4), in-place (2) or fused (0)"),
    "flash": Option(_flag, "flash attention; without it the score matrix is kept"),
    "gradient_bytes": Option(_positive, "bytes of an accumulated gradient (2 or 4); the convention's when not given"),
    "ema": Option(_flag, "a moving average of the weights is kept in fp32"),
    "offload": Option(_choice(OFFLOAD), "optimizer: master copy and moments in the host's memory"),
    "shard": Option(_whole, "GPUs that ZeRO shards over, replicas beyond (HSDP); all when not given"),
    "secondary": Option(_whole, "GPUs that share a second 16-bit copy of the weights (ZeRO++ hpZ)"),
    "buckets": Option(_not_negative, "GB of the framework's flat collective buffers per GPU"),
    "price": Option(_range, "US dollars per GPU-hour, LOW:HIGH"),
    "cpu_price": Option(_not_negative, "US dollars per CPU-core-hour of data preparation"),
    "ablations": Option(_not_negative, "ablations as a share of the main run's GPU-hours"),
    "failed_runs": Option(_not_negative, "failed and repeated runs as a share of the main run's GPU-hours"),
    "storage": Option(_positive, "checkpoint bandwidth of the whole job, GB/s"),
    "restart": Option(_range, "minutes from a failure to training again, LOW:HIGH"),
    "checkpoint_hours": Option(_positive, "hours between checkpoints, when it is not the best interval"),
    "failure_rate": Option(_range, "GPU-days per interruption, LOW:HIGH"),
    "pue": Option(_positive, "power usage effectiveness of the site"),
    "days": Option(_positive, "days of the cluster: without a model, what it can train"),
    "deadline": Option(_positive, "days the run may take"),
    "served_tokens": Option(_positive, "tokens the model will serve in its life"),
    "samples": Option(_whole, "Monte Carlo samples"),
    "seed": Option(lambda place, value: whole(place, _number(place, value), 0), "of the sampling"),
}

GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "what is trained": (
        "--model llama3-8b --tokens 1T --seq 8192 --global-batch 512",
        ("model", "parameters", "tokens", "unique_tokens", "epochs", "vocab_size", "seq", "global_batch", "ramp"),
    ),
    "on what": ("--gpu h100 --gpus 64 --dtype bf16", ("gpu", "gpus", "dtype", "peak", "memory")),
    "how fast, and by when": (
        "--deadline 30, or --gpus 64 --gpu h100 --days 30 without a model",
        ("mfu", "calendar_mfu", "deadline", "days"),
    ),
    "layout; what is not given is searched": (
        "--tp 8 --recompute selective-op",
        ("tp", "pp", "cp", "ep", "zero", "micro_batch", "recompute", "shard", "secondary"),
    ),
    "memory": (
        "--convention megatron --logits fused --offload optimizer",
        ("optimizer", "convention", "logits", "flash", "gradient_bytes", "ema", "offload", "buckets"),
    ),
    "money": (
        "--price 2:3.5 --ablations 0.5 --served-tokens 10T",
        ("price", "cpu_price", "ablations", "failed_runs", "pue", "served_tokens"),
    ),
    "failures": (
        "--checkpoint-hours 6 --storage 100 --failure-rate 500:2500",
        ("storage", "restart", "failure_rate", "checkpoint_hours"),
    ),
    "sampling": ("--samples 10000 --seed 0", ("samples", "seed")),
}
"""Options by what they are about: an example, and their names."""
