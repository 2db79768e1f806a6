"""Data, vocabulary, failures and serving of a plan as sections of quantities."""

from __future__ import annotations

from planner.estimate.repetition import CEILING
from planner.estimate.run import RunEstimate
from planner.facts.failures import RESTART_SOURCE, STORAGE_SOURCE
from planner.model.count import count
from planner.report.quantity import Quantity, Section, Table, Value
from planner.units import big

CHINCHILLA = "Hoffmann 2022; refit of the digitised points with joint covariance (Besiroglu 2024)"


def data(p: RunEstimate) -> Section:
    """Tokens against parameters and epochs."""
    d = p.data
    law: dict[str, Value] = {"N": d.parameters, "D": d.tokens}
    rep: dict[str, Value] = {"U": d.unique, "epochs": d.repetition.epochs, "R": CEILING - 1}
    source = "Muennighoff 2023, fitted to 9B parameters and 900B tokens"
    rows = [
        Quantity("training", d.tokens, "tokens", "training tokens"),
        Quantity("unique", d.unique, "tokens", "unique tokens"),
        Quantity("tokens_per_parameter", d.tokens_per_parameter, "", "tokens per parameter", "D / N", law),
        Quantity("rule_of_20", d.rule_tokens, "tokens", "20 per parameter would be", "20 N", law, "Hoffmann 2022"),
        Quantity(
            "optimal_for_model",
            d.optimal_tokens,
            "tokens",
            "compute-optimal D for this N",
            "D whose optimal N is this",
            law,
            CHINCHILLA,
        ),
        Quantity(
            "optimal_ratio",
            d.optimal_ratio,
            "",
            "optimal D/N at this compute",
            "closed form of L = E + A/N^a + B/D^b",
            law,
            CHINCHILLA,
        ),
        Quantity(
            "optimal_size",
            d.optimal_parameters,
            "parameters",
            "optimal N at this compute",
            "G (C/6)^(b/(a+b))",
            law,
            CHINCHILLA,
        ),
        Quantity(
            "corpus_suits", d.corpus_model, "parameters", "the corpus suffices for", "U / 20", rep, "Hoffmann 2022"
        ),
        Quantity("epochs", d.repetition.epochs, "", "epochs", "D / U", rep),
        Quantity(
            "effective",
            d.repetition.effective,
            "tokens",
            "effective tokens",
            "U (1 + R (1 - e^(-(ep-1)/R)))",
            rep,
            source,
        ),
        Quantity(
            "last_epoch_value",
            d.repetition.last_epoch_value,
            "share",
            "worth of a token in the last epoch",
            "e^(-(ep-1)/R)",
            rep,
            source,
        ),
        Quantity(
            "loss",
            d.loss,
            "nats_per_token",
            "expected loss"
            + {"outside": ", outside the law's range", "extrapolated": ", extrapolated"}.get(d.reach, ""),
            "E + A/N^a + B/D_eff^b",
            law,
            CHINCHILLA + "; on their data, for comparison only",
        ),
    ]
    trap = ", ".join(f"{name} {ratio:.3g}" for name, ratio in d.rounding_trap)
    return Section("data", "Data", tuple(rows), None, (f"D/N at this compute by other coefficients: {trap}",))


VOCABULARY_FORMULAS = (
    ("training_flop", "(6 (N_body + V h) + 3 x attention) x tokens(V)"),
    ("relative_flops", "FLOPs over the least of the rows"),
    ("logits_per_sequence_bytes", "12 bytes x T x V"),
    ("gpu_hours", "GPU-hours of the plan x FLOPs / FLOPs of its vocabulary"),
)


def vocabulary(p: RunEstimate) -> Section:
    """The measured vocabulary sizes."""
    assert p.vocabulary is not None
    v, i = p.vocabulary, p.inputs
    columns = (("vocab_size", "vocabulary"), ("tokens", "tokens"), ("tokens_per_document", "per document"), ("bytes_per_token", "bytes/token"),
               ("total_parameters", "parameters"), ("tokens_per_parameter", "tokens/parameter"), ("training_flop", "FLOPs"),
               ("relative_flops", "relative"), ("logits_per_sequence_bytes", "logits/sequence"), ("gpu_hours", "GPU-hours"),
               ("run_seconds", "time"))  # fmt: skip
    hours = p.schedule.gpu_hours.p50
    chosen = (
        next(r for r in v.rows if r.vocab == i.model.vocab)
        if any(r.vocab == i.model.vocab for r in v.rows)
        else v.rows[-1]
    )
    rows = tuple(
        (r.vocab, r.tokens, r.tokens_per_document, r.bytes_per_token, float(r.parameters), r.tokens_per_parameter, r.flops,
         round(r.flops_relative, 3), r.logits_bytes_per_sequence, hours * r.flops / chosen.flops, 86400 * p.schedule.days.p50 * r.flops / chosen.flops)
        for r in v.rows
    )  # fmt: skip
    fits = ", ".join(f"{name} {value:,.0f}" for name, value in v.published)
    where = f"least FLOPs at {v.best_vocab:,}, within {v.flat:.0%} from {v.flat_low:,} to {v.flat_high:,}"
    edge = ("the least is at the edge of what was measured: the true one may lie outside",) if v.at_edge else ()
    notes = (where, *edge, f"published fits for a model of this size, on other corpora: {fits}",
             "a vocabulary cannot be changed after the first step; where the curve is flat, serving and quality decide")  # fmt: skip
    quantities = (
        Quantity("least_flops_vocab_size", v.best_vocab, "", "vocabulary of least training FLOPs", "argmin of (6 (N_body + V h) + 3 attention) x tokens(V)", {"N_body": count(i.model).non_embedding, "h": i.model.hidden}, "measured totals, monotone cubic in log V"),
    )  # fmt: skip
    return Section(
        "vocabulary",
        "Vocabulary, measured on this corpus",
        quantities,
        Table(columns, rows, VOCABULARY_FORMULAS),
        notes,
    )


def reliability(p: RunEstimate) -> Section:
    """Failures and checkpoints."""
    k, s = p.checkpoint, p.schedule
    base: dict[str, Value] = {"M": k.mtbf, "delta": k.stall, "R": k.restart}
    rows = (
        Quantity("mtbf", k.mtbf, "seconds", "between interruptions of this job", "GPU-days per interruption x 86400 / GPUs", {"GPUs": p.inputs.gpus}, "Llama 3, OPT, BLOOM: five-fold apart, so read it as an order of magnitude"),
        Quantity("expected_interruptions", s.days.p50 * 86400 / k.mtbf, "", "expected interruptions", "run time / M", base),
        Quantity("checkpoint", s.checkpoint_bytes, "bytes", "checkpoint", "(2 + 4 + moments) x N", {"N": count(p.inputs.model).total}, "BigScience tr11 README: 14 bytes per parameter"),
        Quantity("checkpoint_stall", k.stall, "seconds", "stall per checkpoint, written synchronously", "bytes / storage bandwidth", {"bytes": s.checkpoint_bytes}, "given" if p.inputs.storage else STORAGE_SOURCE),
        Quantity("restart", k.restart, "seconds", "restart", "", {}, RESTART_SOURCE),
        Quantity("best_interval", k.best, "seconds", "best checkpoint interval", "e^((tau+delta)/M) (1 - tau/M) = 1", base, "exact renewal"),
        Quantity("flat_from", k.flat_low, "seconds", "within half a percent from", "goodput >= best - 0.005", base),
        Quantity("flat_to", k.flat_high, "seconds", "to", "goodput >= best - 0.005", base),
        Quantity("young", k.young, "seconds", "Young", "sqrt(2 delta M)", base, "Young 1974"),
        Quantity("daly", k.daly, "seconds", "Daly", "sqrt(2 delta M)(1 + sqrt(delta/2M)/3 + delta/18M) - delta", base, "Daly 2006"),
        Quantity("goodput_at_best", k.goodput, "share", "goodput at the best interval", "tau / (M e^(R/M) (e^((tau+delta)/M) - 1))", base, "exact renewal"),
        Quantity("interval", k.interval, "seconds", "checkpoint interval of this plan", "", {}, "given" if p.inputs.checkpoint_hours else "the best"),
        Quantity("lost_per_failure", k.lost_per_failure, "seconds", "work lost by a failure, on average", "M - tau / (e^(tau/M) - 1)", {**base, "tau": k.interval}, "exact for Poisson failures; not half the interval"),
        Quantity("goodput_at_interval", k.goodput_at_interval, "share", "goodput at that interval", "tau / (M e^(R/M) (e^((tau+delta)/M) - 1))", base, "exact renewal"),
        Quantity("lost_time", s.days.p50 * 86400 * (1 - k.goodput_at_interval), "seconds", "expected lost time", "run time x (1 - goodput)", base),
    )  # fmt: skip
    return Section("reliability", "Failures and checkpoints", rows)


def serving(p: RunEstimate) -> Section:
    """Serving the model."""
    assert p.serving is not None
    d, n = p.serving, count(p.inputs.model)
    tokens = p.inputs.served_tokens or 0.0
    rows = [
        Quantity(
            "kv_cache_per_token",
            d.kv_bytes_per_token,
            "bytes",
            "KV cache per token",
            "2 L kv hd x 2 bytes",
            {"L": p.inputs.model.layers},
        ),
        Quantity("gpus", d.gpus, "", "fewest GPUs that hold weights and cache", "", {"batch": d.batch}),
        Quantity(
            "tokens_per_second",
            d.tokens_per_second,
            "",
            f"tokens per second at batch {d.batch} ({d.bound})",
            "batch / max(bytes / bandwidth, FLOP / peak)",
            {"weights": d.weight_bytes},
        ),
        Quantity(
            "per_million_tokens",
            d.usd_per_million_tokens,
            "usd",
            "per million tokens",
            "price x GPUs / tokens per second",
        ),
        Quantity(
            "served_flop",
            2.0 * n.active * tokens,
            "flop",
            f"serving {big(tokens)} tokens",
            "2 N x tokens",
            {"N": n.active},
        ),
    ]
    if d.usd_per_million_tokens is not None:
        rows.append(Quantity("lifetime", d.usd_per_million_tokens * tokens / 1e6, "usd", "serving in its life"))
    return Section("serving", "Serving", tuple(rows))
