"""How a duplicate stands in the decision's files, and what the user hears of a decision."""

from __future__ import annotations

import json

import polars as pl
import pyarrow as pa

from pipeline.storage import Folder


def drops_of(rule: str, found: pl.DataFrame, threshold: float) -> pa.Table:
    """Return rows of `DROP_SCHEMA`.

    Args:
        found: columns position, first and first_id (the document kept in its place); similarity, 1 where absent.
    """
    similarity = pl.col("similarity") if "similarity" in found.columns else pl.lit(1.0)
    drops = found.select(
        "position",
        rule=pl.lit(rule),
        value=similarity,
        threshold=pl.lit(float(threshold)),
        partner="first",
        partner_id="first_id",
    )
    return drops.to_arrow()


def write_notes(work: Folder, notes: list[str]) -> None:
    """Leave what the user should hear of a decision where the run looks for it: ``notes.json``, a list of texts."""
    if notes:
        work.put("notes.json", json.dumps(notes, ensure_ascii=False, indent=1).encode())
