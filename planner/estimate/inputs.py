"""What a plan is made from: typed inputs, and how a recipe's `[plan]` table or the command line becomes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from planner import errors, units
from planner.errors import PlanError, near, one_of, positive, whole
from planner.estimate.budget import Corpus, corpus_from
from planner.estimate.duration import Ramp
from planner.estimate.memory import LOGITS, OFFLOAD
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model import hf_config
from planner.model.config import ModelConfig
from planner.model.device import Accelerator, accelerator, check_mfu, check_peak, custom
from planner.model.flops import RECOMPUTE
from planner.model.shapes import preset, shape_for

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class PlanInputs:
    """Everything a plan depends on. Ranges are (low, high); None means not given and a stated default applies."""

    model: ModelConfig
    device: Accelerator
    gpus: int
    tokens: float | None = None
    """Tokens to train on; None takes them from the corpus."""
    corpus: Corpus | None = None
    unique_tokens: float | None = None
    asked_parameters: float | None = None
    """What `parameters` said, when the shape was assumed."""
    mfu: Range | None = None
    """Step MFU by the PaLM convention; goodput comes on top."""
    calendar_mfu: Range | None = None
    """6ND over GPU-hours and peak; goodput is inside."""
    dtype: str = "bf16"
    seq: int = 4096
    global_batch: int | None = None
    ramp: Ramp | None = None
    """The batch schedule; None means the global batch throughout."""
    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    zero: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None
    optimizer: str = "adamw"
    convention: str = "fsdp2"
    logits: str | None = None
    """How the loss keeps the logits; None means unfused, or in place where only that fits."""
    flash: bool = True
    gradient_bytes: float | None = None
    ema: bool = False
    offload: str = "none"
    shard: int = 0
    secondary: int = 0
    buckets: float = 0.0
    """Flat buffers of collectives, bytes."""
    price: Range | None = None
    cpu_price: float = 0.05
    ablations: float = 0.0
    failed_runs: float = 0.0
    storage: float | None = None
    restart: Range | None = None
    failure_rate: Range | None = None
    pue: float = 1.1
    deadline: float | None = None
    days: float | None = None
    """Days of the cluster, where what to train is the question."""
    checkpoint_hours: float | None = None
    """A checkpoint interval that is given, in hours; None means the best."""
    served_tokens: float | None = None
    samples: int = 10_000
    seed: int = 0

    @property
    def peak(self) -> float:
        """Dense peak FLOP/s of one device in the training dtype."""
        return self.device.peak(self.dtype)

    @property
    def training_tokens(self) -> float:
        """D. Raises PlanError when neither tokens nor a budget was given."""
        if self.tokens is None:
            raise PlanError("plan: how many tokens? Give tokens, or a token_budget.json")
        return self.tokens

    @property
    def unique(self) -> float:
        """Distinct tokens behind the training tokens."""
        return self.unique_tokens if self.unique_tokens is not None else self.training_tokens


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


def inputs_from(table: Mapping[str, Any], budget: Mapping[str, Any] | None, place: str = "plan") -> PlanInputs:
    """PlanInputs from a `[plan]` table (keys as in OPTIONS) and the dict of `token_budget.json`.

    With `budget=None` everything but the token total is checked, so a recipe can be tried before its run. Raises
    PlanError with `place.key: ...` for an unknown key or a value that cannot be.
    """
    for key in table:
        if key not in OPTIONS:
            raise PlanError(f"{place}.{key}: unknown{near(key, OPTIONS)}")
    values = {key: OPTIONS[key].read(f"{place}.{key}", value) for key, value in table.items()}
    corpus = None if budget is None else corpus_from(budget)
    with _placed(place):
        device, dtype = _device(values, place)
        model = _model(values, corpus, place)
    values.setdefault("seq", model.seq)
    if "ramp" in values:
        values["ramp"] = Ramp(values["ramp"], values["seq"])
        values.setdefault("global_batch", values["ramp"].stages[-1][0])
        values.setdefault("tokens", float(values["ramp"].tokens))
    with _placed(place):
        tokens, unique, corpus = _tokens(values, corpus, place)
    for key in ("mfu", "calendar_mfu"):
        for end in values.get(key, ()):
            check_mfu(device, f"{place}.{key}", end)
    if "mfu" in values and "calendar_mfu" in values:
        raise PlanError(f"{place}: give mfu or calendar_mfu, not both; goodput is inside the second only")
    if "gpus" not in values:
        raise PlanError(f"{place}.gpus: how many GPUs?")
    if values.get("pue", 1.1) < 1:
        raise PlanError(f"{place}.pue: must be at least 1, not {values['pue']:g}")
    if dtype in ("fp32", "tf32"):
        values.setdefault("convention", "fp32")
    if "buckets" in values:
        values["buckets"] = values["buckets"] * 1e9
    if "storage" in values:
        values["storage"] = values["storage"] * 1e9
    direct = {k: v for k, v in values.items() if k in PlanInputs.__dataclass_fields__ and k not in _BUILT}
    return PlanInputs(model=model, device=device, dtype=dtype, tokens=tokens, unique_tokens=unique, corpus=corpus,
                      asked_parameters=values.get("parameters"), **direct)  # fmt: skip


def wants_model(table: Mapping[str, Any]) -> bool:
    """Whether a table leaves the model open, so that the question is what the cluster can train."""
    return "model" not in table and "parameters" not in table


def cluster_from(table: Mapping[str, Any], budget: Mapping[str, Any] | None, place: str = "plan") -> PlanInputs:
    """PlanInputs of a cluster without a model: one of a billion parameters stands in until the compute is known.

    Raises PlanError as `inputs_from` does, and when neither days nor a budget say how much is to be had.
    """
    if "days" not in table and budget is None:
        raise PlanError(f"{place}: give a model, or days (--days) or a budget for what the cluster can train")
    return inputs_from({"seq": 4096, **table, "parameters": 1e9}, budget, place)


@contextmanager
def _placed(place: str) -> Iterator[None]:
    """Puts `place` before a refusal that does not name it."""
    try:
        yield
    except PlanError as error:
        text = str(error)
        raise PlanError(text if text.startswith((place, "budget")) else f"{place}.{text}") from error


_BUILT = ("model", "device", "dtype", "tokens", "unique_tokens", "corpus")


def _device(values: Mapping[str, Any], place: str) -> tuple[Accelerator, str]:
    if "gpu" not in values:
        raise PlanError(f"{place}.gpu: which GPU?")
    dtype = values.get("dtype")
    if values["gpu"] in ("custom", "cpu"):
        if "peak" not in values or "memory" not in values:
            raise PlanError(f"{place}.gpu: a {values['gpu']} device needs peak (dense TFLOP/s) and memory (GB)")
        dtype = dtype or "bf16"
        return custom(values["peak"] * units.TERA, values["memory"] * units.GB, dtype, values["gpu"]), dtype
    device = accelerator(values["gpu"])
    dtype = dtype or ("bf16" if "bf16" in dict(device.peaks) else "fp16")
    device.peak(dtype)
    if "memory" in values:
        device = replace(device, memory_bytes=values["memory"] * units.GB)
    if "peak" in values:
        peak = check_peak(device, dtype, values["peak"] * units.TERA)
        device = replace(device, peaks=tuple((d, peak if d == dtype else p) for d, p in device.peaks))
    return device, dtype


def _model(values: Mapping[str, Any], corpus: Corpus | None, place: str) -> ModelConfig:
    vocab = values.get("vocab_size") or (corpus.largest if corpus else None)
    if ("model" in values) == ("parameters" in values):
        raise PlanError(f"{place}: give a model or its parameters, one of the two")
    if "parameters" in values:
        size = values["parameters"]
        default = 128256 if size >= 3e9 else 32000 if size >= 3e7 else 4096
        return shape_for(size, vocab or default, values.get("seq", 4096 if size >= 1e8 else 1024))
    name = values["model"]
    model = preset(name) if isinstance(name, str) else hf_config.from_hf(name, str(name.get("_name_or_path", "config")))
    return model.with_vocab(vocab) if vocab else model


def _tokens(
    values: dict[str, Any], corpus: Corpus | None, place: str
) -> tuple[float | None, float | None, Corpus | None]:
    """(training tokens, unique tokens, corpus scaled to them)."""
    tokens, unique, epochs = values.pop("tokens", None), values.pop("unique_tokens", None), values.pop("epochs", None)
    vocab = values.pop("vocab_size", None)
    if corpus is not None:
        measured = corpus.at(vocab or corpus.largest)
        if tokens is None:
            tokens, unique = measured * (epochs or 1.0), unique or measured
        elif epochs is not None:
            raise PlanError(f"{place}.epochs: tokens already says how many; give one of the two")
        corpus = corpus.scaled((unique or tokens) / measured)
    elif epochs is not None and tokens is not None:
        tokens, unique = tokens * epochs, unique or tokens
    if tokens is not None and unique is not None and unique > tokens * (1 + 1e-9):
        unique = tokens
    return tokens, unique, corpus
