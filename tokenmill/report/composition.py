"""What documents are, counted by kind: source, language, domain, length, year of the crawl, character set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from pipeline.storage import Folder

KINDS = ("source", "language", "domain", "length", "year", "charset")
FILES = 32
"""Files looked at where there are more: spread evenly over all of them."""
COLUMNS = ("source", "language", "url", "date", "charset", "text")
LENGTHS = (1_000, 3_000, 10_000, 30_000, 100_000)
LENGTH_NAMES = ("below 1 kB", "1 to 3 kB", "3 to 10 kB", "10 to 30 kB", "30 to 100 kB", "100 kB and more")
NOT_KNOWN = "not known"
_HOST = r"^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@]*@)?([^/:?#]+)"
_SECOND_LEVEL = {"ac", "co", "com", "edu", "go", "gob", "gov", "ne", "net", "or", "org"}


@dataclass
class Counts:
    """Documents by kind and name.

    Attributes:
        documents: counted; files, of: read, and how many there are.
    """

    by: dict[str, Counter[str]] = field(default_factory=dict)
    documents: int = 0
    files: int = 0
    of: int = 0

    def add(self, kind: str, names: pl.Series) -> None:
        """Count `names`; absent ones are `NOT_KNOWN`."""
        found = names.fill_null(NOT_KNOWN).value_counts()
        counter = self.by.setdefault(kind, Counter())
        for name, number in found.iter_rows():
            counter[name or NOT_KNOWN] += number

    def share(self, kind: str, name: str) -> float:
        """Return the share of the counted documents that are `name`."""
        total = sum(self.by.get(kind, Counter()).values())
        return self.by[kind][name] / total if total else 0.0


def spread(names: Sequence[str], number: int = FILES) -> list[str]:
    """Return at most `number` of `names`, spread evenly."""
    if len(names) <= number:
        return list(names)
    return [names[round(n * (len(names) - 1) / (number - 1))] for n in range(number)]


def count(folder: Folder, names: Sequence[str], columns: Sequence[str] = COLUMNS) -> Counts:
    """Return the counts of the documents in Parquet files `names` of `folder`, of `FILES` of them where there are more."""
    chosen = spread([name for name in names if name.endswith(".parquet")])
    found = Counts(files=len(chosen), of=len(names))
    for name in chosen:
        with folder.parquet(name) as parquet:
            there = [c for c in columns if c in parquet.schema_arrow.names]
            for batch in parquet.iter_batches(8192, columns=there):
                found.documents += batch.num_rows
                _count(found, batch)
    return found


def _count(found: Counts, batch: pa.RecordBatch) -> None:
    frame = pl.DataFrame(pl.from_arrow(batch))
    for column in set(frame.columns) & {"source", "language", "charset"}:
        found.add(column, frame[column].cast(pl.String))
    if "date" in frame.columns:
        found.add("year", frame["date"].cast(pl.String).str.extract(r"^(\d{4})", 1))
    if "text" in frame.columns:
        sizes = frame["text"].str.len_bytes().fill_null(0)
        found.add("length", pl.Series(LENGTH_NAMES)[[sum(n >= limit for limit in LENGTHS) for n in sizes]])
    if "url" in frame.columns:
        count_urls(found, frame["url"])


def count_urls(found: Counts, urls: pl.Series) -> None:
    """Count the registered domains of `urls`."""
    hosts = urls.cast(pl.String).str.extract(_HOST, 1).str.to_lowercase().fill_null("").value_counts()
    counter = found.by.setdefault("domain", Counter())
    for host, number in hosts.iter_rows():
        counter[registered(host) or NOT_KNOWN] += number


def registered(host: str) -> str:
    """Return the part of a host name that somebody registers: two labels, three behind a second level such as co.uk.

    By that rule, not by the Public Suffix List: names below a suffix that it alone knows come together.

    >>> registered("www.a.example"), registered("news.bbc.co.uk"), registered("127.0.0.1")
    ('a.example', 'bbc.co.uk', '127.0.0.1')
    """
    labels = host.strip(".").split(".")
    if re.fullmatch(r"[\d.]+|\[.*\]?", host) or len(labels) < 3:
        return ".".join(labels)
    several = len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL
    return ".".join(labels[-3 if several else -2 :])
