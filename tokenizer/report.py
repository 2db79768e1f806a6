"""What token counts say: totals, ratios and quantiles by size, source and language, and what each size costs.

The input is tables of token counts, one row a document: ``source``, ``language``, ``bytes``, ``characters``,
``words`` and ``tokens_<size>``. They are taken one at a time; memory grows with the number of sources,
languages and distinct document lengths only.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.storage import Folder

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
CONTEXTS = (2048, 4096, 8192, 32768, 131072)
"""Context lengths over which the share of documents is told, in tokens."""

PREFIX = "tokens_"
_SUMS = ("documents", "bytes", "characters", "words")
_KEYS = ("source", "language")


@dataclass
class TokenReport:
    """Sums over token-count tables; add tables in any order, the result is the same.

    Attributes:
        columns: the token columns, in the order of the first table.
    """

    columns: tuple[str, ...] = ()
    _totals: pl.DataFrame | None = None
    _lengths: dict[str, pl.DataFrame] = field(default_factory=dict)

    def add(self, table: pa.Table) -> None:
        """Add one table of token counts."""
        self.columns = self.columns or tuple(n for n in table.column_names if n.startswith(PREFIX))
        frame = pl.DataFrame(table.select([n for n in table.column_names if n != "id"])).with_columns(
            pl.col("source").cast(pl.String).fill_null("unknown"),
            pl.col("language").cast(pl.String).fill_null("unknown"),
            documents=pl.lit(1, pl.Int64),
        )
        sums = [pl.col(name).cast(pl.Int64).sum() for name in (*_SUMS, *self.columns)]
        parts = [frame.group_by(_KEYS).agg(sums), *([] if self._totals is None else [self._totals])]
        self._totals = pl.concat(parts).group_by(_KEYS).agg(pl.all().sum()).sort(_KEYS)
        for column in self.columns:
            lengths = frame.group_by(*_KEYS, pl.col(column).cast(pl.Int64).alias("tokens")).agg(
                documents=pl.len().cast(pl.Int64)
            )
            old = self._lengths.get(column)
            joined = lengths if old is None else pl.concat([old, lengths])
            self._lengths[column] = joined.group_by(*_KEYS, "tokens").agg(pl.col("documents").sum())

    def sums(self, key: str | None = None) -> list[dict[str, Any]]:
        """Return documents, bytes, characters, words and tokens of each value of `key`, or of everything."""
        if self._totals is None:
            return []
        values = [pl.col(name).sum() for name in (*_SUMS, *self.columns)]
        if key is None:
            return self._totals.select(values).to_dicts()
        return self._totals.group_by(key).agg(values).sort(key).to_dicts()

    def lengths(self, column: str, key: str | None = None, value: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (tokens per document, ascending; number of documents that have as many)."""
        if column not in self._lengths:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        frame = self._lengths[column]
        if key is not None:
            frame = frame.filter(pl.col(key) == value)
        frame = frame.group_by("tokens").agg(pl.col("documents").sum()).sort("tokens")
        return frame["tokens"].to_numpy(), frame["documents"].to_numpy()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per token column and group (all, each source, each language): see `_row`."""
        rows = []
        english = {row["language"]: row for row in self.sums("language")}.get("en")
        for column in self.columns:
            for key in (None, *_KEYS):
                for sums in self.sums(key):
                    value = None if key is None else sums[key]
                    row = _row(column, key or "all", value or "all", sums, *self.lengths(column, key, value))
                    if key == "language":
                        row.update(premium(sums, english, column))
                    rows.append(row)
        return rows


def _row(
    column: str, group: str, name: str, sums: Mapping[str, Any], tokens: np.ndarray, documents: np.ndarray
) -> dict[str, Any]:
    total = sums[column]
    return {
        "tokenizer": column.removeprefix(PREFIX),
        "group": group,
        "name": name,
        **{key: sums[key] for key in _SUMS},
        "tokens": total,
        "bytes_per_token": ratio(sums["bytes"], total),
        "characters_per_token": ratio(sums["characters"], total),
        "tokens_per_word": ratio(total, sums["words"]),
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
) -> list[dict[str, Any]]:
    """Return, per vocabulary size, what the fixed corpus costs, and whether that is within a share of the least.

    The sizes marked `flat` are the flat region around the minimum: choosing among them costs at most `within`.
    """
    flop = {size: training_flop(tokens, size, hidden, other_parameters) for size, tokens in tokens_by_size.items()}
    least = min(flop.values(), default=0.0)
    return [
        {
            "vocab_size": size,
            "tokens": tokens_by_size[size],
            "embedding_share": embedding_share(size, hidden, other_parameters, tied=tied),
            "flop": cost,
            "over_least": cost / least - 1 if least else 0.0,
            "flat": cost <= least * (1 + within),
        }
        for size, cost in sorted(flop.items())
    ]


def write_report(rows: Iterable[Mapping[str, Any]], folder: Folder, name: str = "tokens") -> None:
    """Write rows as ``<name>.json``, and flat as ``<name>.csv`` and ``<name>.parquet``."""
    listed = list(rows)
    flat = [flattened(row) for row in listed]
    folder.put(f"{name}.json", (json.dumps(listed, indent=1, ensure_ascii=False) + "\n").encode())
    keys = list(dict.fromkeys(key for row in flat for key in row))
    sink = io.StringIO(newline="")
    writer = csv.DictWriter(sink, keys, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
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
