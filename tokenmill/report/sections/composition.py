"""Composition before and after: what was read and what was kept, by source, language, domain, length, year and charset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.storage import Folder
from tokenmill.report import html
from tokenmill.report.composition import (
    COLUMNS,
    KINDS,
    LENGTH_NAMES,
    NOT_KNOWN,
    Counts,
    count,
    count_urls,
    extracted,
    spread,
)
from tokenmill.report.run_files import RunFiles
from tokenmill.report.sections.mix import mix

SHOWN = 12
"""Names of each kind: those with most documents before, and all that vanished up to `VANISHED`."""
VANISHED = 24
TITLES = {"source": "By source", "language": "By language", "domain": "By registered domain", "length": "By length of the text",
          "year": "By year of the crawl", "charset": "By character set"}  # fmt: skip


@dataclass
class Kept:
    """One name of a kind: documents before and after; estimates where files were sampled."""

    name: str
    before: float
    after: float


def composition(files: RunFiles) -> str:
    """Return the section."""
    before, after = _before(files), count(files.made, files.published("data"))
    counted = {kind: _rows(kind, before, after, files) for kind in KINDS if kind in before.by and kind in after.by}
    counted = {kind: rows for kind, rows in counted.items() if any(row.name != NOT_KNOWN for row in rows)}
    mixture = mix(files)
    if not counted:
        return html.heading("What the corpus is made of is not known: no column tells") + mixture if mixture else ""
    first = files.summary["passes"][0]
    if first["read"] != first["kept"]:
        said = "Length, year and character set before are those of the documents that came through the first pass."
        mixture = html.paragraph(said, "lead") + mixture if set(counted) & {"length", "year", "charset"} else mixture
    sampled = before.files < before.of or after.files < after.of
    lead = "Before: documents as they came out of the crawl, removed ones included. " + (
        f"Estimated from {before.files} of {before.of} shards and {after.files} of {after.of} files of the corpus." if sampled else "Every document is counted.")  # fmt: skip
    return (
        html.heading(_finding(counted), lead)
        + '<div class="charts">'
        + "".join(_kind(kind, rows) for kind, rows in counted.items())
        + "</div>"
        + mixture
    )


def _before(files: RunFiles) -> Counts:
    """Return the counts before anything was removed: shards of the first pass that knows it, and the ledger up to there."""
    passes = files.passes()
    if not passes:
        return Counts()
    folder, shards = passes[0]
    chosen = spread(shards)
    found = count(folder, chosen, [c for c in COLUMNS if c != "language"])
    found.of = len(shards)
    for rows in _removed(folder, chosen):
        found.add("source", rows.column("source"))
        count_urls(found, rows.column("url"))
    _languages(found, files, passes)
    return found


def _languages(found: Counts, files: RunFiles, passes: list[tuple[Folder, list[str]]]) -> None:
    """Count languages as the first pass that knows them found them: from its signals, which hold removed documents too, or
    from the documents that it left; and what the language stage itself removed, from its ledger."""
    for folder, names in passes:
        with folder.parquet(names[0]) as parquet:
            if "language" not in parquet.schema_arrow.names:
                continue
        chosen = spread(names)
        shards = [name.removesuffix(".parquet") for name in chosen]
        begin = f"signals/{folder.url.rpartition('/')[2].rpartition('-')[0]}-"
        signals = [name for name in files.published("signals") if name.startswith(begin)]
        for name in signals:
            with files.made.parquet(name) as parquet:
                for batch in parquet.iter_batches(1 << 16, columns=["shard", "language"]):
                    rows = batch.filter(pc.is_in(batch.column("shard"), pa.array(shards, pa.large_string())))
                    found.add("language", rows.column("language").drop_null())
        if not signals:
            found.by["language"] = count(folder, chosen, ("language",)).by.get("language", Counter())
        for rows in _removed(folder, chosen):
            rows = rows.filter(pc.starts_with(rows.column("stage"), "language"))
            found.add("language", extracted(rows.column("detail"), r"^(?P<found>[a-z]{2,3})\b"))
        return


def _removed(folder: Folder, shards: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield source, url, stage and detail of the documents that the pass in `folder` removed from `shards`."""
    there = set(folder.names("ledger"))
    for name in shards:
        if f"ledger/{name}" in there:
            with folder.parquet(f"ledger/{name}") as parquet:
                for batch in parquet.iter_batches(8192, columns=["source", "url", "kind", "stage", "detail"]):
                    yield batch.filter(pc.not_equal(batch.column("kind"), "span"))


def _rows(kind: str, before: Counts, after: Counts, files: RunFiles) -> list[Kept]:
    entered = sum(before.by[kind].values()) / max(1, before.files) * before.of if before.of else 0
    kept = files.summary["kept"]
    names = set(before.by[kind]) | set(after.by[kind])
    rows = [Kept(n, before.share(kind, n) * entered, after.share(kind, n) * kept) for n in names]
    if kind == "length":
        return sorted(rows, key=lambda row: LENGTH_NAMES.index(row.name) if row.name in LENGTH_NAMES else 99)
    if kind == "year":
        return sorted(rows, key=lambda row: row.name)
    return sorted(rows, key=lambda row: (-row.before, row.name))


def _vanished(rows: list[Kept]) -> list[Kept]:
    return [row for row in rows if row.before and not row.after]


def _finding(counted: dict[str, list[Kept]]) -> str:
    said = []
    for kind in ("source", "language"):
        rows = [row for row in counted.get(kind, []) if row.before >= 1 and row.name != NOT_KNOWN]
        gone = [row.name for row in _vanished(rows)]
        if gone:
            said.append(
                f"nothing is left of {kind} {', '.join(gone[:5])}"
                + (f" and {len(gone) - 5} more" if len(gone) > 5 else "")
            )
        elif len(rows) > 1:
            least = min(rows, key=lambda row: row.after / row.before)
            said.append(f"least is left of {kind} {least.name}: {html.percent(least.after, least.before)}")
    text = "; ".join(said) or "What the corpus is made of, before and after"
    return text[0].upper() + text[1:]


def _kind(kind: str, rows: list[Kept]) -> str:
    most = max((max(row.before, row.after) for row in rows), default=1) or 1
    ordered = kind in ("length", "year")
    shown = rows if ordered else rows[:SHOWN]
    gone = _vanished(rows)
    names = {row.name for row in shown}
    shown = [*shown, *[row for row in gone if row.name not in names][:VANISHED]]
    names = {row.name for row in shown}
    drawn = []
    for row in shown:
        share = (
            "all gone"
            if row.before and not row.after
            else "new"
            if not row.before
            else html.percent(row.after, row.before)
        )
        parts = [(row.after / most, "o"), (max(0.0, row.before - row.after) / most, "d")]
        drawn.append((row.name, parts, [f"{row.before:,.0f}", f"{row.after:,.0f}", share]))
    rest = len(rows) - len(shown)
    note = html.paragraph(f"{rest:,} more, {sum(row.name not in names for row in gone):,} of which vanished wholly.") if rest > 0 and len(rows) < 5000 else html.paragraph(f"{rest:,} more.") if rest > 0 else ""  # fmt: skip
    vanished = html.paragraph(f"Vanished wholly: {len(gone):,} of {len(rows):,}.") if gone else ""
    head = [kind, "kept and removed", "before", "after", "retention"]
    return f"<div><h3>{TITLES[kind]}</h3>{vanished}{html.bars(head, drawn)}{note}</div>"
