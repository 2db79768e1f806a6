"""What a plan is made from: typed inputs, and how a recipe's `[plan]` table or the command line becomes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from planner import units
from planner.errors import PlanError, near
from planner.estimate.budget import Corpus, corpus_from
from planner.estimate.duration import Ramp
from planner.estimate.options import OPTIONS, Range
from planner.model import hf_config
from planner.model.config import ModelConfig
from planner.model.device import Accelerator, accelerator, check_mfu, check_peak, custom
from planner.model.shapes import preset, shape_for


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
    def layout_given(self) -> bool:
        """Whether the layout is given so far that nothing which costs time is left to the search."""
        return None not in (self.tp, self.pp, self.micro_batch, self.recompute)

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


def inputs_from(table: Mapping[str, Any], budget: Mapping[str, Any] | None, place: str = "plan") -> PlanInputs:
    """PlanInputs from a `[plan]` table (keys as in OPTIONS) and the dict of `token_budget.json`.

    With `budget=None` everything but the token total is checked, so a recipe can be tried before its run. Raises
    PlanError with `place.key: ...` for an unknown key or a value that cannot be.
    """
    for key in table:
        if key not in OPTIONS:
            raise PlanError(f"{place}.{key}: unknown{near(key, OPTIONS)}")
    if "days" in table:
        raise PlanError(f"{place}.days: asks what a cluster can train, without a model; with one, give a deadline")
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
    rest = {k: v for k, v in table.items() if k != "days"}
    days = OPTIONS["days"].read(f"{place}.days", table["days"]) if "days" in table else None
    return replace(inputs_from({"seq": 4096, **rest, "parameters": 1e9}, budget, place), days=days)


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
