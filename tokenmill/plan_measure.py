"""A few real training steps of a configuration, on whatever this machine has. Needs the optional package torch.

The model is built here from the same ModelConfig the planner counts, and its parameters must come out equal.
"""

from __future__ import annotations

import platform
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner.errors import PlanError, one_of, whole
from planner.model.config import ModelConfig
from planner.model.count import count
from tokenmill.plan_torch import build


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """What to run: micro-batch of `micro_batch` x `seq` tokens, `steps` timed after `warmup`."""

    seq: int
    micro_batch: int = 1
    steps: int = 5
    warmup: int = 2
    dtype: str = "fp32"
    device: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("seq", "micro_batch", "steps"):
            whole(name, getattr(self, name))
        whole("warmup", self.warmup, 0)
        one_of("dtype", self.dtype, ("fp32", "bf16"))
        one_of("device", self.device, ("auto", "cpu", "cuda"))


def measure(c: ModelConfig, options: MeasureOptions) -> dict[str, Any]:
    """The dict of `measured.json`: step time, tokens/s, peaks, bytes by bucket, and the best matmul of this device.

    Raises PlanError when torch is absent, or the model has parts this loop does not build (experts, latent attention).
    """
    torch = load_torch()
    if c.moe is not None or c.mla is not None or c.embedding_norm or c.norms_per_layer != 2:
        raise PlanError(
            f"measure: {c.name} has experts, latent attention or extra norms, which this loop does not build"
        )
    where = "cuda" if options.device != "cpu" and torch.cuda.is_available() else "cpu"
    if options.device == "cuda" and where == "cpu":
        raise PlanError("measure: no CUDA device is here; use --device cpu")
    torch.manual_seed(options.seed)
    model = build(torch, c, options.seq).to(where)
    total = sum(p.numel() for p in model.parameters())
    if total != count(c).total:
        raise PlanError(f"measure: torch counts {total:,} parameters and the planner {count(c).total:,}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    step = _stepper(torch, c, model, optimizer, options, where)
    for _ in range(options.warmup):
        step(None)
    buckets, live_peak = _buckets(torch, model, optimizer, step)
    if where == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = _timed(torch, step, options.steps, where)
    tokens = options.micro_batch * options.seq
    return {
        "model": c.name, "parameters": total, "seq_tokens": options.seq, "micro_batch": options.micro_batch, "batch_tokens": tokens,
        "dtype": options.dtype, "device": _device_name(torch, where), "torch": torch.__version__, "gpus": 1, "steps": options.steps,
        "step_seconds": seconds, "tokens_per_second": tokens / seconds, **_peaks(torch, where, live_peak), "buckets_bytes": buckets,
        "matmul_flop_per_s": _best_matmul(torch, where, options.dtype),
    }  # fmt: skip


def load_torch() -> Any:
    """The torch module, or PlanError saying how to get it."""
    try:
        import torch
    except ImportError as error:
        raise PlanError("measure: needs torch: pip install 'tokenmill[torch]'") from error
    return torch


def _stepper(
    torch: Any, c: ModelConfig, model: Any, optimizer: Any, options: MeasureOptions, where: str
) -> Callable[[Any], None]:
    """A function that takes one training step; its argument wraps the forward pass (to watch saved tensors)."""
    shape = (options.micro_batch, options.seq + 1)
    data = torch.randint(c.vocab, shape, device=where)
    cast = torch.autocast(where, dtype=torch.bfloat16, enabled=options.dtype == "bf16")

    def step(watch: Any) -> None:
        with watch or _nothing(), cast:
            logits = model(data[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), data[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


class _nothing:  # noqa: N801
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _buckets(torch: Any, model: Any, optimizer: Any, step: Callable[[Any], None]) -> tuple[dict[str, float], float]:
    """(bytes by bucket, true peak of live tensors) of one step.

    Activations are the storages autograd saves for the backward pass, each once, parameters and logits apart; logits
    are the peak of all live tensors whose last dimension is the vocabulary.
    """
    owned = {p.untyped_storage().data_ptr() for p in model.parameters()}
    seen: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned and not (tensor.dim() and tensor.shape[-1] == model.vocab):
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    step(torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t))
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    state = sum(
        t.numel() * t.element_size()
        for s in optimizer.state.values()
        for t in s.values()
        if torch.is_tensor(t) and t.dim()
    )
    live = live_bytes(torch, model.vocab)
    with live:
        step(None)
    buckets = {
        "weights": weights,
        "gradients": weights,
        "optimizer": state,
        "activations": sum(seen.values()),
        "logits": live.logits_peak,
    }
    return buckets, weights + state + live.peak


def live_bytes(torch: Any, vocab: int) -> Any:
    """A dispatch mode that knows the peak bytes of tensors made under it, and of those as wide as the vocabulary."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class LiveBytes(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.now = self.peak = self.logits_now = self.logits_peak = 0
            self.known: set[int] = set()

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            old = {t.untyped_storage()._cdata for t in tree_flatten((args, kwargs))[0] if torch.is_tensor(t)}
            out = function(*args, **(kwargs or {}))
            for tensor in tree_flatten(out)[0]:
                if torch.is_tensor(tensor) and tensor.untyped_storage()._cdata not in old | self.known:
                    self.add(tensor)
            return out

        def add(self, tensor: Any) -> None:
            storage = tensor.untyped_storage()
            size = storage.nbytes()
            wide = size if tensor.dim() and tensor.shape[-1] == vocab else 0
            self.known.add(storage._cdata)
            self.now += size
            self.logits_now += wide
            self.peak, self.logits_peak = max(self.peak, self.now), max(self.logits_peak, self.logits_now)
            weakref.finalize(storage, self.drop, storage._cdata, size, wide)

        def drop(self, key: int, size: int, wide: int) -> None:
            self.known.discard(key)
            self.now -= size
            self.logits_now -= wide

    return LiveBytes()


def _timed(torch: Any, step: Callable[[Any], None], steps: int, where: str) -> float:
    """Median seconds of a step."""
    times = []
    for _ in range(steps):
        if where == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        step(None)
        if where == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def _peaks(torch: Any, where: str, live_peak: float) -> dict[str, Any]:
    """Peak memory: the allocator's on CUDA; on a CPU, which has none to ask, that of live tensors."""
    if where == "cuda":
        free, total = torch.cuda.mem_get_info()
        return {
            "peak_allocated_bytes": torch.cuda.max_memory_allocated(), "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
            "device_used_bytes": total - free, "peak_source": "torch.cuda allocator",
        }  # fmt: skip
    import resource  # absent where planning without measuring still works

    unit = 1 if platform.system() == "Darwin" else 1024
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {
        "peak_allocated_bytes": live_peak,
        "process_peak_bytes": process,
        "peak_source": "live tensors of one step, by storage",
    }


def _best_matmul(torch: Any, where: str, dtype: str) -> float:
    """FLOP/s of the best of a few square matrix products: the practical peak of this machine."""
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    best = 0.0
    for size in (512, 1024) if where == "cpu" else (4096, 8192):
        a = torch.randn(size, size, device=where, dtype=kind)
        for _ in range(4):
            start = time.perf_counter()
            a @ a
            if where == "cuda":
                torch.cuda.synchronize()
            best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best


def _device_name(torch: Any, where: str) -> str:
    return str(torch.cuda.get_device_name()) if where == "cuda" else f"cpu, {torch.get_num_threads()} threads"
