"""What token counts say, by size, source and language: ratios and quantiles, and what each size costs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.storage import Folder
from pipeline.visible import csv_cell
from tokenizer.counting.budget import SizeCost
from tokenizer.counting.totals import GROUPS, PREFIX, SUMS, Totals

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
CONTEXTS = (2048, 4096, 8192, 32768, 131072)
"""Context lengths over which the share of documents is told, in tokens."""


def report_rows(totals: Totals, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row per token column and group (all, each source, each language): see `_row`."""
    sums = {group: totals.sums(group) for group in GROUPS}
    english = sums["language"].get("en")
    rows = []
    for column in columns:
        for group in GROUPS:
            for name, mine in sums[group].items():
                row = _row(column, group, name, mine, *totals.lengths(group, name, column))
                if group == "language":
                    row.update(premium(mine, english, column))
                rows.append(row)
    return rows


def _row(
    column: str, group: str, name: str, sums: Mapping[str, Any], tokens: np.ndarray, documents: np.ndarray
) -> dict[str, Any]:
    total = sums.get(column, 0)
    return {
        "tokenizer": column.removeprefix(PREFIX),
        "group": group,
        "name": name,
        **{key: sums.get(key, 0) for key in SUMS},
        "tokens": total,
        "bytes_per_token": ratio(sums.get("bytes", 0), total),
        "characters_per_token": ratio(sums.get("characters", 0), total),
        "tokens_per_word": ratio(total, sums.get("words", 0)),
        "premium_per_character": None,
        "premium_per_byte": None,
        "quantiles": quantiles(tokens, documents),
        "share_over": share_over(tokens, documents),
    }


def ratio(above: float, below: float) -> float | None:
    """Return ``above / below``, or None where nothing is below."""
    return above / below if below else None


def quantiles(tokens: np.ndarray, documents: np.ndarray) -> dict[str, int]:
    """Return quantiles of tokens per document: for each q the least number that q of the documents do not exceed.

    Args:
        tokens: numbers of tokens, ascending.
        documents: how many documents have as many.
    """
    if len(tokens) == 0:
        return {}
    below = np.cumsum(documents)
    places = np.searchsorted(below, np.maximum(1, np.ceil(np.array(QUANTILES) * below[-1])))
    return {f"{q:g}": int(tokens[place]) for q, place in zip(QUANTILES, places, strict=True)}


def share_over(tokens: np.ndarray, documents: np.ndarray, contexts: Sequence[int] = CONTEXTS) -> dict[str, float]:
    """Return the share of documents longer than each context length, in tokens."""
    total = int(documents.sum())
    return {str(c): float(documents[tokens > c].sum()) / total if total else 0.0 for c in contexts}


def premium(sums: Mapping[str, Any], english: Mapping[str, Any] | None, column: str) -> dict[str, float | None]:
    """Return how many times the tokens of English a language takes, per character and per byte.

    Petrov et al. 2023 (arXiv:2305.15425) compare translations of the same text. A crawl holds none, so the
    comparison is by length: per character it overstates scripts that say more in a character (Chinese), per
    byte it understates those that take more bytes a character.
    """
    if english is None:
        return {"premium_per_character": None, "premium_per_byte": None}
    result = {}
    for unit in ("characters", "bytes"):
        mine, theirs = ratio(sums[column], sums[unit]), ratio(english[column], english[unit])
        result[f"premium_per_{unit[:-1]}"] = mine / theirs if mine is not None and theirs else None
    return result


def embedding_share(vocab_size: int, hidden: int, other_parameters: float, *, tied: bool = False) -> float:
    """Return the share of a model's parameters that are its embeddings (input and output; once, where tied)."""
    embedding = vocab_size * hidden * (1 if tied else 2)
    return embedding / (embedding + other_parameters)


def training_flop(tokens: float, vocab_size: int, hidden: int, other_parameters: float) -> float:
    """Return the floating-point operations of one pass over a corpus of `tokens`: 6 x tokens x (non-embedding + head).

    6 per parameter and token, forward and backward (Kaplan et al. 2020, arXiv:2001.08361). The input embedding is
    a look-up and costs nothing; the output head is a product of ``hidden x vocab_size`` and does.
    """
    return 6.0 * tokens * (other_parameters + hidden * vocab_size)


def costs(
    tokens_by_size: Mapping[int, int], hidden: int, other_parameters: float, *, tied: bool = False, within: float = 0.01
) -> list[SizeCost]:
    """Return, per vocabulary size, what the fixed corpus costs, and whether that is within a share of the least.

    The sizes marked `flat` are the flat region around the minimum: choosing among them costs at most `within`.
    """
    flop = {size: training_flop(tokens, size, hidden, other_parameters) for size, tokens in tokens_by_size.items()}
    least = min(flop.values(), default=0.0)
    return [
        SizeCost(
            vocab_size=size,
            tokens=tokens_by_size[size],
            embedding_share=embedding_share(size, hidden, other_parameters, tied=tied),
            flop=cost,
            over_least=cost / least - 1 if least else 0.0,
            flat=cost <= least * (1 + within),
        )
        for size, cost in sorted(flop.items())
    ]


def write_report(rows: Iterable[Mapping[str, Any]], folder: Folder, name: str = "tokens") -> None:
    """Write rows as ``<name>.json``, and flat as ``<name>.csv`` and ``<name>.parquet``."""
    listed = list(rows)
    flat = [flattened(row) for row in listed]
    folder.put(f"{name}.json", (json.dumps(listed, indent=1, ensure_ascii=False) + "\n").encode())
    keys = list(dict.fromkeys(key for row in flat for key in row))
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(map(csv_cell, keys))
    writer.writerows([csv_cell(row.get(key)) for key in keys] for row in flat)
    folder.put(f"{name}.csv", sink.getvalue().encode())
    folder.put_table(f"{name}.parquet", pa.Table.from_pylist(flat) if flat else pa.table({}))


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return `row` with the entries of its tables as columns ``<column>_<key>``."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}_{inner}": number for inner, number in value.items()})
        else:
            flat[key] = value
    return flat
