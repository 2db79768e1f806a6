"""Duplicates: clusters by size, similarities, source against source, and a pair with its differences."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Any

import numpy as np

from pipeline.corpus import rows_of
from pipeline.storage import Folder
from tokenmill.report import html, svg
from tokenmill.report.escaping import escape
from tokenmill.report.ledger_facts import LedgerFacts
from tokenmill.report.run_files import RunFiles

SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 99), (100, 999), (1000, None))
PARTNERS = 300
"""Kept partners looked up to tell which source duplicates which."""
WORDS = 160


def duplicates(files: RunFiles, facts: LedgerFacts) -> str:
    """Return the section; empty where nothing was removed for another document."""
    if not facts.copies:
        return ""
    secret = (files.manifest.recipe.get("ledger") or {}).get("text_characters") == 0
    order = [row["stage"] for row in files.summary["stages"] if row["stage"] in facts.copies]
    gone = {stage: sum(facts.copies[stage].values()) for stage in order}
    biggest = max(max(copies.values()) for copies in facts.copies.values())
    said = "; ".join(
        f"{stage} removes {number:,} copies of {len(facts.copies[stage]):,} documents" for stage, number in gone.items()
    )
    lead = f"The largest cluster has {biggest + 1:,} documents." + (
        f" From {facts.read:,} of {facts.of:,} files of the ledger." if facts.read < facts.of else ""
    )
    parts = [html.heading(said, lead)]
    for stage in order:
        copies = facts.copies[stage]
        parts.append(f"<h3>{escape(stage)}</h3>{_sizes(copies)}{_similarity(stage, facts)}")
        if not secret:
            parts.append(_biggest(stage, copies, facts))
    kept = _partners(files, facts)
    parts.append(_between(facts, kept))
    if not secret:
        parts.append(_pair(facts, kept))
    return "".join(parts)


def _sizes(copies: Counter[str]) -> str:
    numbers = list(copies.values())
    rows = []
    for low, high in SIZES:
        inside = [n for n in numbers if n >= low and (high is None or n <= high)]
        if inside:
            name = (
                f"{low + 1:,}" if high == low else f"{low + 1:,} to {high + 1:,}" if high else f"{low + 1:,} and more"
            )
            rows.append((name, sum(inside), len(inside)))
    most = max(total for _, total, _ in rows)
    drawn = [(name, [(total / most, "d")], [f"{clusters:,}", f"{total:,}"]) for name, total, clusters in rows]
    return html.bars(["documents in a cluster", "removed", "clusters", "documents removed"], drawn)


def _similarity(stage: str, facts: LedgerFacts) -> str:
    values = np.array(facts.similarities.get(stage, ()), np.float64)
    if len(values) == 0 or values.min() == values.max():
        return ""
    limit = facts.thresholds[stage]
    edges = np.linspace(min(float(values.min()), limit), 1.0, 25)
    counts = np.histogram(values, edges)[0]
    rows = [[f"{edges[n]:.3f}", f"{edges[n + 1]:.3f}", f"{counts[n]:,}"] for n in range(24) if counts[n]]
    chart = svg.histogram(edges.tolist(), counts.tolist(), [(limit, f"threshold {limit:g}")])
    said = f"Similarity of {len(values):,} removed documents to the one kept"
    return f"<figure>{chart}<figcaption>{said}</figcaption></figure>" + html.details(
        "As a table", html.table(["from", "to", "documents"], rows)
    )


def _biggest(stage: str, copies: Counter[str], facts: LedgerFacts) -> str:
    partner, number = min(copies.items(), key=lambda item: (-item[1], item[0]))
    row = facts.copied.get((stage, partner))
    if row is None:
        return ""
    said = f"The biggest cluster: {number:,} removed, for {row['partner_id']}"
    return html.details(
        said, f'<div class="example">{escape(str(row["url"] or row["id"])[:300])}{html.excerpt(row["text"], 600)}</div>'
    )


def _partners(files: RunFiles, facts: LedgerFacts) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the kept partners of some removed documents, by stage and place."""
    wanted: dict[tuple[str, str], set[int]] = {}
    for stage, partner in list(facts.copied)[:PARTNERS]:
        shard, _, row = partner.rpartition(":")
        if row.isdigit():
            wanted.setdefault((stage, shard), set()).add(int(row))
    found = {}
    for (stage, shard), numbers in wanted.items():
        folder, rows = _folder(files, stage), sorted(numbers)
        if folder is not None and folder.exists(f"{shard}.parquet"):
            with folder.parquet(f"{shard}.parquet", 64 << 10) as parquet:
                columns = [c for c in ("id", "url", "source", "text") if c in parquet.schema_arrow.names]
            texts = rows_of(folder, shard, np.array(rows), columns).to_pylist()
            found.update({(stage, f"{shard}:{row}"): text for row, text in zip(rows, texts, strict=True)})
    return {key: found[key] for key in facts.copied if key in found}


def _folder(files: RunFiles, stage: str) -> Folder | None:
    """Return the folder in whose texts the places of the partners of `stage` count."""
    seen = f"/observed-{stage.replace('#', '-')}-"
    for step in files.manifest.passes:
        if any(seen in place for place in step["observed"]):
            return files.out / step["texts"]
    return None


def _between(facts: LedgerFacts, kept: dict[tuple[str, str], dict[str, Any]]) -> str:
    counted: Counter[tuple[str, str]] = Counter()
    for key, row in kept.items():
        counted[str(facts.copied[key]["source"]), str(row.get("source"))] += 1
    sources = [name for name, _ in Counter({s: n for pair, n in counted.items() for s in pair}).most_common(8)]
    if len(sources) < 2:
        return ""
    most = max(counted.values())
    rows = "".join(
        f"<tr><td>{escape(a)}</td>" + "".join(
            f'<td class="heat" style="--heat:{45 * counted[a, b] / most:.0f}%">{counted[a, b]:,}</td>' for b in sources) + "</tr>"
        for a in sources
    )  # fmt: skip
    top = "".join(f'<th scope="col">{escape(b)}</th>' for b in sources)
    caption = f"removed (rows) for a document kept of (columns), of {len(kept):,} pairs looked up"
    return "<h3>Source against source</h3>" + html.wide(
        f'<th scope="col">removed of</th>{top}', rows, "sources", caption
    )


def _pair(facts: LedgerFacts, kept: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return the pair that is least alike, with the words that only one of the two has marked."""
    known = [
        (facts.copied[key]["value"], key)
        for key in kept
        if facts.copied[key]["value"] is not None and facts.copied[key]["text"]
    ]
    if not known:
        return ""
    value, key = min(known)
    removed, stays = facts.copied[key], kept[key]
    a, b = (((row.get("text") or "").split()[:WORDS]) for row in (removed, stays))
    b = b[: len(a) + 10]
    parts = []
    for what, i, j, k, m in difflib.SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
        if what == "equal":
            parts.append(escape(" ".join(a[i:j])))
        else:
            parts += [f"<del>{escape(' '.join(a[i:j]))}</del>"] if i < j else []
            parts += [f"<ins>{escape(' '.join(b[k:m]))}</ins>"] if k < m else []
    names = f"{removed['url'] or removed['id']} against {stays.get('url') or stays.get('id')}"
    said = f"A pair of {key[0]}: similarity {value:.3g}, the least alike that were looked up"
    body = f'<div class="example">{escape(names)} <i>struck out: only in the removed one; underlined: only in the kept one</i><blockquote>{" ".join(parts)}</blockquote></div>'
    return html.details(said, body, printed=True)
