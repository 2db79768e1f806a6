"""What each rule sees: its signal over the documents that came to it, the threshold drawn in, and documents at it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pipeline.corpus import rows_of
from pipeline.run.signals import PassSignals
from pipeline.storage import Folder
from stages.quality.rule_stage import Rule, RuleStage
from tokenmill.analyse.distributions import edges_of
from tokenmill.documentation import field_documents
from tokenmill.report import html, svg
from tokenmill.report.escaping import escape
from tokenmill.report.ledger_facts import LedgerFacts
from tokenmill.report.run_files import RunFiles
from tokenmill.what_if import way

OPEN = 6
"""Rules with a histogram that are shown at once: those that removed most. The others are folded away by stage."""
RULES = 40
"""Rules with examples: those that removed most."""
SIDES = 3
"""Documents from each side of a threshold."""
CHARACTERS = 260
BINS_TOLD = 12


@dataclasses.dataclass
class Seen:
    """What one rule saw.

    Attributes:
        values: of its signal, of the documents that came to its stage; dropped: which of these it removed.
        kept: (shard, row, value) of kept documents nearest to the threshold; folder: where their texts stand.
    """

    rule: Rule
    stage: RuleStage
    values: np.ndarray
    dropped: np.ndarray
    kept: list[tuple[str, int, float]]
    folder: Folder


def rules(files: RunFiles, facts: LedgerFacts) -> str:
    """Return the section."""
    s = files.summary
    removed = [(stage, rule, number, what) for key, what in (("dropped", "document"), ("failed_by", "failed"), ("spans", "span"))
               for stage, counts in s[key].items() for rule, number in counts.items()]  # fmt: skip
    if not removed:
        return ""
    passes, share = files.signals()
    seen = _seen(files, passes)
    secret = (files.manifest.recipe.get("ledger") or {}).get("text_characters") == 0
    came = {key: len(about.values) for key, about in seen.items()}
    shown = sorted(removed, key=lambda row: (row[3] == "span", -row[2], -came.get((row[0], row[1]), 0), row[0], row[1]))
    parts: list[str] = []
    folded: dict[str, list[str]] = {}
    for stage, rule, number, what in shown[:RULES]:
        told = _rule(seen.get((stage, rule)), stage, rule, number, what, facts, secret)
        if len(parts) < OPEN and (stage, rule) in seen:
            parts.append(told)
        else:
            folded.setdefault(stage, []).append(told)
    parts = [f'<div class="charts">{"".join(parts)}</div>'] if parts else []
    for stage, some in folded.items():
        more = " more" if any(row[0] == stage and (stage, row[1]) in seen for row in shown[:OPEN]) else ""
        told = f'<div class="charts">{"".join(some)}</div>'
        parts.append(html.details(f"{stage}: {len(some)}{more} rule{'s' if len(some) > 1 else ''}", told))
    rest = [[stage, rule, f"{number:,}"] for stage, rule, number, _ in shown[RULES:]]
    if rest:
        parts.append(
            html.details(f"{len(rest)} rules that removed less", html.table(["stage", "rule", "removed"], rest, (1,)))
        )
    stage, rule, number, what = shown[0]
    lead = "Rules that removed most first. A signal is counted over all documents that came to the stage; what the rule removed is drawn at the foot of the bars."
    if share < 1:
        lead += f" Signals are of {html.percent(share, 1)} of the files."
    if facts.read < facts.of:
        lead += f" Examples are from {facts.read:,} of {facts.of:,} files of the ledger."
    return html.heading(
        f"{len(shown)} rules removed something; most did {rule} of {stage}: {number:,} {_many(what, number)}", lead
    ) + "".join(parts)


def _many(what: str, number: int) -> str:
    return {"document": "document", "failed": "failed document", "span": "span"}[what] + ("s" if number != 1 else "")


def _seen(files: RunFiles, passes: list[PassSignals]) -> dict[tuple[str, str], Seen]:
    stages = files.rule_stages(passes)
    folders = {name.rpartition("-")[0]: name for name in (step["folder"] for step in files.manifest.passes)}
    found: dict[tuple[str, str], Seen] = {}
    for step in passes:
        known = way(step, stages)
        shards, codes = step.codes("shard")
        rows, stays = step.column("row"), known.left == -1
        for index, label in enumerate(step.labels[: known.known]):
            if label not in stages:
                continue
            stage = stages[label]
            names, values = step.signals(label)
            came = (known.left == -1) | (known.left >= index)
            limits = stage.thresholds(values, names)
            for place, rule in enumerate(stage.rules):
                column = values[:, names.index(rule.signal)]
                among = came & np.isfinite(column)
                dropped = among & (known.left == index) & (known.rule == place)
                far = np.abs(column - limits[:, place])
                near = np.flatnonzero(among & stays & (rows >= 0) & np.isfinite(far))
                near = near[np.argsort(far[near], kind="stable")[:SIDES]]
                kept = [(str(shards[codes[n]]), int(rows[n]), float(column[n])) for n in near]
                if dropped.any():
                    found[label, rule.name] = Seen(
                        rule, stage, column[among], dropped[among], kept, files.out / folders[step.name]
                    )
    return found


def _rule(seen: Seen | None, stage: str, rule: str, number: int, what: str, facts: LedgerFacts, secret: bool) -> str:
    removed = "".join(
        _example(row, "removed" if what != "failed" else "failed") for row in facts.examples.get((stage, rule), ())
    )
    said = f"<h3>{escape(f'{stage}: {rule}, {number:,} {_many(what, number)}')}</h3>"
    if seen is None:
        return f"<div>{said}{removed}</div>"
    meaning, limit = _meaning(seen), seen.rule.threshold
    known = limit == limit
    edges, grows = edges_of(seen.values, [limit] if known else [])
    counts, gone = (_histogram(values, edges) for values in (seen.values, seen.values[seen.dropped]))
    sign = "<" if seen.rule.side == "below" else ">"
    marks = [(limit, f"removed {sign} {limit:g}")] if known else []
    beyond = int(seen.dropped.sum())
    chart = f"<figure>{svg.histogram(edges.tolist(), counts.tolist(), marks, grows, gone.tolist())}<figcaption>{escape(f'{beyond:,} of the {len(seen.values):,} documents that came here ({html.percent(beyond, len(seen.values))}) on the far side')}</figcaption></figure>"
    kept = "" if secret else "".join(_kept(seen.folder, place) for place in seen.kept)
    table = html.details(
        "The histogram as a table", html.table(["from", "to", "documents", "removed"], _bins(edges, counts, gone))
    )
    known_side = html.details("Documents at the threshold", removed + kept, printed=True) if removed or kept else ""
    return f"<div>{said}{html.paragraph(meaning) if meaning else ''}{chart}{table}{known_side}</div>"


def _meaning(seen: Seen) -> str:
    said = field_documents(type(seen.stage)).get(seen.rule.parameter, "") if seen.rule.parameter else ""
    limit = "a limit by language" if seen.rule.threshold != seen.rule.threshold else f"{seen.rule.threshold:g}"
    name = f" ({seen.rule.parameter})" if seen.rule.parameter else ""
    return f"{' '.join(said.split())} Removed where {seen.rule.signal} is {seen.rule.side} {limit}{name}.".strip()


def _histogram(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]


def _bins(edges: np.ndarray, counts: np.ndarray, gone: np.ndarray) -> list[list[str]]:
    step = max(1, -(-len(counts) // BINS_TOLD))
    return [[f"{edges[at]:.4g}", f"{edges[min(at + step, len(counts))]:.4g}", f"{counts[at : at + step].sum():,}", f"{gone[at : at + step].sum():,}"]
            for at in range(0, len(counts), step)]  # fmt: skip


def _example(row: dict[str, Any], word: str) -> str:
    measured = "" if row["value"] is None else f"measured {row['value']:.6g}"
    if row["threshold"] is not None:
        measured += f", threshold {row['threshold']:.6g}"
    detail = row["detail"] or ""
    facts = "; ".join(fact for fact in (word, measured, detail[:400]) if fact)
    return (
        f'<div class="example">{escape(str(row["url"] or row["id"])[:300])} <i>{escape(facts)}</i>'
        f"{html.excerpt(row['text'], CHARACTERS, ' '.join(detail.split()))}</div>"
    )


def _kept(folder: Folder, place: tuple[str, int, float]) -> str:
    shard, row, value = place
    if not folder.exists(f"{shard}.parquet"):
        return ""
    found = rows_of(folder, shard, np.array([row]), ["id", "url", "text"]).to_pylist()[0]
    return (
        f'<div class="example">{escape(str(found["url"] or found["id"])[:300])} <i>kept; measured {value:.6g}</i>'
        f"{html.excerpt(found['text'], CHARACTERS)}</div>"
    )
