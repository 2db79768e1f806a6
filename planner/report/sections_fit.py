"""Model, compute, memory and layouts of a plan as sections of quantities."""

from __future__ import annotations

from planner.estimate.arrangement import LOGITS
from planner.estimate.run import RunEstimate
from planner.facts.hardware import FRAGMENTATION_SOURCE, OVERHEAD_SOURCE
from planner.facts.optimizers import CONVENTIONS, MOMENTS
from planner.model.count import count
from planner.model.flops import CONVENTIONS as FLOP_CONVENTIONS
from planner.model.flops import attention_share
from planner.report.quantity import Quantity, Section, Table, Value
from planner.units import GIB, big, plain


def model(p: RunEstimate) -> Section:
    """Parameters by component."""
    c, n = p.inputs.model, count(p.inputs.model)
    shape = {"L": c.layers, "h": c.hidden, "heads": c.heads, "kv": c.kv_heads, "f": c.ffn, "V": c.vocab}
    parts = " + ".join(f"{k} {big(v)}" for k, v in n.parts().items() if v)
    rows = [
        Quantity(
            "total", n.total, "parameters", "total", parts, shape, c.source or "exact count from the configuration"
        ),
        Quantity(
            "matmul",
            n.matmul,
            "parameters",
            "in matrix products",
            "attention + active MLP + router + head",
            shape,
            "torchtitan, nanochat: a lookup is no matmul",
        ),
        Quantity(
            "non_embedding",
            n.non_embedding,
            "parameters",
            "non-embedding",
            "total - embedding - positions - head",
            shape,
            "Kaplan 2020",
        ),
    ]
    if n.active != n.total:
        rows.insert(1, Quantity("active", n.active, "parameters", "active per token", "total - unused experts", shape))
    asked = p.inputs.asked_parameters
    notes = (
        (
            f"shape assumed for {big(asked)} parameters: {c.layers} layers x {c.hidden}, MLP {c.ffn}, vocabulary {c.vocab:,}",
        )
        if asked
        else ()
    )
    return Section("model", f"Model: {c.name}", tuple(rows), None, notes)


def compute(p: RunEstimate) -> Section:
    """FLOPs per token and in all."""
    s, n, c = p.schedule, count(p.inputs.model), p.inputs.model
    inputs = {"N": n.matmul if s.convention != "6nd" else n.active, "T": p.inputs.seq}
    share = attention_share(c.layers, (c.query_width + c.value_width) / 2, p.inputs.seq, n.matmul)
    rows = (
        Quantity(
            "forward_per_token",
            s.flops.forward,
            "flop",
            "forward, per token",
            "2 N + attention",
            inputs,
            FLOP_CONVENTIONS[s.convention],
        ),
        Quantity(
            "backward_per_token",
            s.flops.backward,
            "flop",
            "backward, per token",
            "2 x forward",
            inputs,
            FLOP_CONVENTIONS[s.convention],
        ),
        Quantity(
            "recompute_per_token",
            s.flops.recompute,
            "flop",
            "recomputed, per token (HFU only)",
            "forward work done twice",
            {"recompute": p.inputs.recompute},
            "Korthikanti 2022; never in MFU",
        ),
        Quantity(
            "training",
            s.total_flops,
            "flop",
            "training",
            "(forward + backward) x D",
            {"D": p.inputs.training_tokens},
            FLOP_CONVENTIONS[s.convention],
        ),
        Quantity(
            "training_6nd",
            6 * n.active * p.inputs.training_tokens,
            "flop",
            "training as 6 N D",
            "6 N D",
            {"N": n.active, "D": p.inputs.training_tokens},
            "Kaplan 2020; Llama 3 section 3.2",
        ),
        Quantity(
            "attention_share",
            share,
            "share",
            "attention over 6 N, full (causal: half)",
            "12 L h T / (6 N)",
            {"N": n.matmul, "T": p.inputs.seq},
            "PaLM appendix B",
        ),
    )
    return Section("compute", f"Compute, by {FLOP_CONVENTIONS[s.convention]}", rows)


def memory(p: RunEstimate) -> Section:
    """Memory of the fullest device by term."""
    e, i = p.fit.memory, p.inputs
    formulas = _memory_formulas(p)
    rows = [Quantity(k.replace(" ", "_"), v, "bytes", k, *formulas[k]) for k, v in e.terms.items() if v]
    layout = {"layout": e.layout.text()}
    rows += [
        Quantity("total", e.total, "bytes", "total, fullest device", "sum of the terms", layout),
        Quantity(
            "available",
            e.available,
            "bytes",
            "available",
            "what the runtime reports",
            {"device": i.device.title},
            i.device.source,
        ),
        Quantity("headroom", e.headroom, "bytes", "headroom", "available - total", layout),
        Quantity(
            "largest_micro_batch",
            p.fit.largest_micro_batch,
            "",
            "largest micro-batch in this layout",
            "largest whose total is within what is available",
            layout,
        ),
        Quantity(
            "largest_model",
            p.fit.largest_model,
            "parameters",
            "largest model any layout fits here",
            "bisection over Llama-like shapes and all layouts",
            {"gpus": i.gpus, "seq": i.seq},
        ),
    ]
    notes = []
    if len(e.stages) > 1:
        ends = ", ".join(f"{k} {plain(sum(v.values()) / GIB)} GiB" for k, v in e.stages.items())
        notes.append(f"pipeline ends: {ends}; the {e.deciding} decides")
    notes += [f"would fit with {c.what} ({plain(c.memory / GIB)} GiB; {c.costs})" for c in p.fit.changes]
    return Section("fit", f"Memory per GPU ({e.layout.text()})", tuple(rows), None, tuple(notes))


def _memory_formulas(p: RunEstimate) -> dict[str, tuple[str, dict[str, Value], str]]:
    """Formula, inputs and source of each memory term."""
    i, layout = p.inputs, p.fit.memory.layout
    kind = CONVENTIONS[i.convention]
    held: dict[str, Value] = {
        "N": count(i.model).total,
        "tp": layout.tp,
        "pp": layout.pp,
        "dp x cp": layout.dp * layout.cp,
        "ZeRO": layout.zero,
    }
    micro: dict[str, Value] = {
        "s": i.seq,
        "b": layout.micro_batch,
        "tp": layout.tp,
        "cp": layout.cp,
        "in flight": min(layout.pp, layout.microbatches),
    }
    logit = LOGITS[i.logits or "unfused"]
    return {
        "weights": (f"{kind.weights:g} bytes x parameters held (/ dp x cp from ZeRO-3)", held, kind.source),
        "gradients": (f"{kind.gradients:g} bytes x parameters held (/ dp x cp from ZeRO-2)", held, kind.source),
        "master copy": (f"{kind.master:g} bytes x parameters held (/ dp x cp from ZeRO-1)", held, kind.source),
        "moments": (f"{MOMENTS[i.optimizer][0]:g} bytes x parameters held (/ dp x cp from ZeRO-1)", held, f"{i.optimizer}: {MOMENTS[i.optimizer][1]}"),
        "moving average": ("4 bytes x parameters held (/ dp x cp from ZeRO-1)", held, "as asked"),
        "secondary weights": ("2 bytes x parameters / ranks of the second copy", held, "ZeRO++ hpZ"),
        "activations": (f"kept per layer under recompute {layout.recompute} x layers x micro-batches in flight", micro, "2 s b (4h + 2 nh hd + 2 kv hd + 4f) + 4 s b nh and what recompute drops (C); Korthikanti 2022"),
        "layer being recomputed": ("one whole layer less what it keeps", micro, "Korthikanti 2022"),
        "embedding output": ("2 s b h", micro, "bf16"),
        "logits and loss": (f"{logit:g} bytes x s b V / tp + head input 2 s b h", {**micro, "V": i.model.vocab}, "4 (fp32 only) to 12 bytes unfused: stas00/ml-engineering (P)"),
        "unsharded layers": ("bf16 weights of the two largest units that ZeRO-3 gathers", held, kind.source),
        "gradient buffer": ("gradients of one layer before they are reduced", held, kind.source),
        "fragmentation": ("5 % of all that is not states", {}, FRAGMENTATION_SOURCE),
        "device context": ("constant", {}, OVERHEAD_SOURCE),
        "communication buffers": ("constant when there is more than one GPU", {}, OVERHEAD_SOURCE),
    }  # fmt: skip


LAYOUT_FORMULAS = (
    ("memory_bytes", "sum of the memory terms on the fullest device"),
    ("relative_time", "step time over that of the first row, by the forecast's terms"),
    ("bubble_share", "(P - 1) / (M + P - 1) of cluster time"),
    ("bubble_of_ideal", "(P - 1) / (V M) relative to ideal time"),
    ("gemm_flop_per_byte", "2 m n k / (2 (m k + k n + m n)), m tokens of a micro-batch, n MLP width / tp, k hidden"),
)


def layouts(p: RunEstimate, rows: int = 8) -> Section:
    """The Pareto table of layouts."""
    s = p.fit.search
    columns = (("tp", "tp"), ("cp", "cp"), ("pp", "pp"), ("interleave", "chunks"), ("ep", "ep"), ("dp", "dp"), ("zero", "ZeRO"), ("micro_batch", "micro"), ("recompute", "recompute"),
               ("memory_bytes", "memory"), ("relative_time", "time"), ("bubble_share", "bubble"), ("bubble_of_ideal", "(P-1)/M"),
               ("gemm_flop_per_byte", "FLOP/byte"), ("binding", "bound by"))  # fmt: skip
    table = tuple(
        (k.layout.tp, k.layout.cp, k.layout.pp, k.layout.interleave, k.layout.ep, k.layout.dp, k.layout.zero, k.layout.micro_batch, k.layout.recompute, k.memory,
         round(k.relative_time, 2), k.bubble, round(k.bubble_of_ideal, 3), round(k.gemm_intensity), k.binding)
        for k in s.pareto[:rows]
    )  # fmt: skip
    device = p.inputs.device
    node = min(device.per_node * device.network_bandwidth, device.scale_up_bandwidth)
    link = p.inputs.peak / node
    quantities = (
        Quantity("tried", s.tried, "", "layouts tried", "all that divide heads, layers, GPUs and batch"),
        Quantity("fitting", s.fitting, "", "layouts that fit"),
        Quantity("ridge_flop_per_byte", round(s.ridge, 1), "", "ridge point, FLOP per byte of HBM", "peak / memory bandwidth", {"peak": p.inputs.peak, "bandwidth": p.inputs.device.memory_bandwidth}, "roofline"),
        Quantity("data_parallel_floor_tokens_per_gpu", round(link), "", "tokens per GPU and step to hide ZeRO-3 across nodes", "peak / bandwidth of a node's network cards together", {"peak": p.inputs.peak, "bandwidth": node}, "jax-ml/scaling-book (P)"),
        Quantity("tokens_per_gpu", p.fit.global_batch * p.inputs.seq / p.inputs.gpus, "", "tokens per GPU and step in this plan", "global batch x T / GPUs", {"global batch": p.fit.global_batch}),
    )  # fmt: skip
    more = (f"{len(s.pareto) - rows} leaner and slower layouts not shown",) if len(s.pareto) > rows else ()
    note = "time is relative to the fastest that fits, by the same step time as the forecast"
    return Section(
        "layout",
        "Layouts: where less memory costs time",
        quantities,
        Table(columns, table, LAYOUT_FORMULAS),
        (note, *more),
    )
