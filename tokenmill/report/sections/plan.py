"""The plan: memory against the device, days and cost with what widens them, the compute-optimal curve, layouts, formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.estimate.scaling import refit
from planner.report.quantity import cell, write
from planner.units import big, money, plain
from tokenmill.report import html, svg
from tokenmill.report.escaping import escape
from tokenmill.report.run_files import RunFiles

KINDS = ("k", "o", "p", "d")
DAY = 86_400
TABLES = (("moves", "What would bring the run to half its compute"), ("vocabulary", "By vocabulary size"))


def plan(files: RunFiles) -> str:
    """Return the section; empty where the recipe has no plan."""
    return plan_body(files.plan, files.plan_lines) if files.plan_lines else ""


def plan_body(made: Mapping[str, Any], lines: Sequence[str]) -> str:
    """Return the section of a plan as `planner.plan.Plan.as_dict` has it, and in words."""
    words = f"<pre>{escape(chr(10).join(lines))}</pre>"
    if not made:
        return html.heading("Plan") + words
    parts = [
        html.heading(f"Plan: {_finding(made)}"),
        words,
        _memory(made),
        _intervals(made),
        _curve(made),
        _layouts(made),
    ]
    parts += [_table(made, name, title) for name, title in TABLES]
    return "".join(part for part in parts if part) + formulas(made.get("explain", {}))


def _finding(made: Mapping[str, Any]) -> str:
    inputs, days = made["inputs"], made["time"].get("days")
    fits = "fits" if made["fits"] else "does NOT fit"
    said = f"{inputs['model']['name']} {fits} on {inputs['gpus']:,} x {inputs['device']['name']}"
    if days:
        said += f" and takes {write(days['p50'] * DAY, 'seconds')}"
    total = made.get("bill", {}).get("total_usd")
    return said + (f" and {money(total['p50'])}" if isinstance(total, Mapping) else "")


def _memory(made: Mapping[str, Any]) -> str:
    device = made["inputs"]["device"]["memory_bytes"]
    rows, kinds = [], []
    for stage, terms in made["memory_terms_bytes"].items():
        known = {name: size for name, size in terms.items() if size}
        total = sum(known.values())
        room = max(device, total)
        free = max(0.0, device - total)
        rows.append((f"{stage}, of {write(device, 'bytes')}", [*((size / room, KINDS[n % 3]) for n, size in enumerate(known.values())), (free / room, "s")],
                     [write(total, "bytes"), html.percent(total, device)]))  # fmt: skip
        kinds.append("chosen")
        start = 0.0
        for n, (name, size) in enumerate(known.items()):
            rows.append(
                (
                    name,
                    [(start / room, "s"), (size / room, KINDS[n % 3])],
                    [write(size, "bytes"), html.percent(size, device)],
                )
            )
            kinds.append("rule")
            start += size
        rows.append(("free" if total <= device else "too much", [(start / room, "s"), (free / room, "o")], [write(abs(device - total), "bytes"), html.percent(abs(device - total), device)]))  # fmt: skip
        kinds.append("rule")
    return "<h3>Memory of the fullest GPU</h3>" + html.bars(
        ["term", "share of the device", "memory", "of the device"], rows, classes=kinds
    )


def _intervals(made: Mapping[str, Any]) -> str:
    rows = []
    for part, key, label, unit in (
        ("time", "days", "time", "seconds"),
        ("time", "gpu_hours", "GPU-hours", "gpu_hours"),
        ("bill", "total_usd", "cost", "usd"),
    ):
        found = made.get(part, {}).get(key)
        if isinstance(found, Mapping):
            scale = DAY if key == "days" else 1
            rows.append([label, *(write(found[p] * scale, unit) for p in ("p10", "p50", "p90"))])
    body = (
        html.table(["", "one in ten is below (p10)", "half (p50)", "nine in ten are below (p90)"], rows) if rows else ""
    )
    widest = [
        row for row in made.get("uncertainty", {}).get("rows", []) if row.get("high_usd", 0) > row.get("low_usd", 0)
    ]
    if widest:
        widest.sort(key=lambda row: row["low_usd"] - row["high_usd"])
        low, high = min(r["low_usd"] for r in widest), max(r["high_usd"] for r in widest)
        span = (high - low) or 1
        drawn = [(row["input"], [((row["low_usd"] - low) / span, "s"), ((row["high_usd"] - row["low_usd"]) / span, "k")],
                  [money(row["low_usd"]), money(row["high_usd"]), row["distribution"]]) for row in widest]  # fmt: skip
        body += html.bars(
            [
                "what widens it",
                "the cost from its low to its high end",
                "at its low end",
                "at its high end",
                "taken as",
            ],
            drawn,
            text=(2,),
        )
    return f"<h3>Time and cost, and what widens them</h3>{body}" if body else ""


def allocation(flops: float, parameters: float, tokens: float, number: int = 41) -> dict[str, Any]:
    """Return losses of the same compute spent on other sizes, by the refit law (Besiroglu 2024): points (parameters, tokens,
    loss) from a 32nd to 32 times the size of least loss, or as far as the chosen size."""
    law = refit()
    best = float(law.optimum(flops)[0])
    low, high = min(best / 32, parameters / 2), max(best * 32, parameters * 2)
    sizes = [low * (high / low) ** (n / (number - 1)) for n in range(number)]
    points = [(n, flops / (6 * n), float(law.loss(n, flops / (6 * n)))) for n in sizes]
    return {
        "points": points,
        "best": (best, flops / (6 * best), float(law.loss(best, flops / (6 * best)))),
        "chosen": (parameters, tokens, float(law.loss(parameters, tokens))),
        "source": law.source,
    }


def _curve(made: Mapping[str, Any]) -> str:
    parameters, tokens = float(made["model"]["total_parameters"]), made["inputs"].get("tokens")
    if not tokens:
        return ""
    found = allocation(6 * parameters * tokens, parameters, tokens)
    best, chosen = found["best"], found["chosen"]
    top = max(chosen[2], best[2]) + 0.6
    points = [(n, loss) for n, _, loss in found["points"] if loss <= top or n == parameters]
    marks = [(best[0], best[2], f"optimum {big(best[0])}"), (chosen[0], chosen[2], f"this model {big(chosen[0])}")]
    chart = svg.lines(
        [("loss", points)], "parameters, at the compute of this run", "expected loss, nats per token", marks=marks
    )
    rows = [
        [name, big(n), big(d), f"{loss:.3f}"] for name, (n, d, loss) in (("of least loss", best), ("this run", chosen))
    ]
    rows += [["", big(n), big(d), f"{loss:.3f}"] for n, d, loss in found["points"][::5]]
    reach = "The law was fitted to models of 44 M to 16 B parameters; far from there it says little."
    return (
        f"<h3>The same compute, spent on another size</h3><figure>{chart}<figcaption>{escape(reach)}</figcaption></figure>"
        + html.details("The curve as a table", html.table(["", "parameters", "tokens", "loss"], rows))
    )


def _layouts(made: Mapping[str, Any]) -> str:
    rows = made.get("layout", {}).get("rows") or []
    if not rows:
        return ""
    chosen = made.get("layout_chosen", {})
    keys = list(rows[0])
    same = [
        all(
            row.get(k) == chosen.get(k)
            for k in ("tp", "cp", "pp", "dp", "zero", "micro_batch", "recompute", "interleave")
        )
        for row in rows
    ]
    body = "".join(
        f"<tr{' class=chosen' if hit else ''}><td>{'chosen' if hit else ''}</td>"
        + "".join(f"<td>{escape(cell(row[k], k))}</td>" for k in keys)
        + "</tr>"
        for row, hit in zip(rows, same, strict=True)
    )
    top = "".join(f'<th scope="col">{escape(k.replace("_", " "))}</th>' for k in ("", *keys))
    notes = "".join(map(html.paragraph, made["layout"].get("notes", ())))
    return f"<h3>Layouts that fit, fastest first</h3>{html.wide(top, body, 'layouts')}{notes}"


def _table(made: Mapping[str, Any], name: str, title: str) -> str:
    rows = made.get(name, {}).get("rows") or []
    if not rows:
        return ""
    keys = list(rows[0])
    notes = "".join(map(html.paragraph, made[name].get("notes", ())))
    told = [["" if row[k] is None else cell(row[k], k) for k in keys] for row in rows]
    return f"<h3>{title}</h3>{html.table([k.replace('_', ' ') for k in keys], told)}{notes}"


def formulas(explained: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how each number of the plan comes about, folded away by group."""
    groups: dict[str, list[str]] = {}
    for name, about in explained.items():
        inputs = ", ".join(
            f"{k} = {plain(v) if isinstance(v, int | float) and not isinstance(v, bool) else v}"
            for k, v in about["inputs"].items()
        )
        groups.setdefault(name.partition(".")[0], []).append(
            f'<tr><td>{escape(name)}</td><td class="text">{escape(str(about["formula"]))}</td>'
            f'<td class="text">{escape(inputs)}</td><td class="text">{escape(str(about["source"]))}</td></tr>'
        )
    head = '<th scope="col">number</th><th scope="col" class="text">formula</th><th scope="col" class="text">with</th><th scope="col" class="text">source</th>'
    shown = [
        html.details(f"Formulas: {group} ({len(rows)})", html.wide(head, "".join(rows), group))
        for group, rows in groups.items()
    ]
    return "<h3>Formulas of every number</h3>" + "".join(shown) if shown else ""
