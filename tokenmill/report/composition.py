"""What documents are, counted by kind: source, language, domain, length, year of the crawl, character set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.storage import Folder

KINDS = ("source", "language", "domain", "length", "year", "charset")
FILES = 32
"""Files looked at where there are more: spread evenly over all of them."""
COLUMNS = ("source", "language", "url", "date", "charset", "text")
LENGTHS = (1_000, 3_000, 10_000, 30_000, 100_000)
LENGTH_NAMES = ("below 1 kB", "1 to 3 kB", "3 to 10 kB", "10 to 30 kB", "30 to 100 kB", "100 kB and more")
NOT_KNOWN = "not known"
_HOST = r"^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@]*@)?(?P<found>[^/:?#]+)"
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

    def add(self, kind: str, names: pa.Array) -> None:
        """Count `names`; absent ones are `NOT_KNOWN`."""
        found = pc.value_counts(names.cast(pa.large_string()))
        counter = self.by.setdefault(kind, Counter())
        for name, number in zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True):
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
    there = {name: batch.column(name) for name in batch.schema.names}
    for column in set(there) & {"source", "language", "charset"}:
        found.add(column, there[column])
    if "date" in there:
        found.add("year", extracted(there["date"], r"^(?P<found>\d{4})"))
    if "text" in there:
        sizes = pc.fill_null(pc.binary_length(there["text"].cast(pa.large_string())), 0).to_numpy()
        numbers = np.bincount(np.searchsorted(LENGTHS, sizes, side="right"), minlength=len(LENGTH_NAMES))
        lengths = found.by.setdefault("length", Counter())
        lengths.update({name: int(n) for name, n in zip(LENGTH_NAMES, numbers, strict=True) if n})
    if "url" in there:
        count_urls(found, there["url"])


def extracted(texts: pa.Array, pattern: str) -> pa.Array:
    """Return what the group ``found`` of `pattern` is in each of `texts`; null where there is no such place."""
    return pc.struct_field(pc.extract_regex(texts.cast(pa.large_string()), pattern), "found")


def count_urls(found: Counts, urls: pa.Array) -> None:
    """Count the registered domains of `urls`."""
    hosts = pc.value_counts(pc.utf8_lower(extracted(urls, _HOST)))
    counter = found.by.setdefault("domain", Counter())
    for host, number in zip(hosts.field("values").to_pylist(), hosts.field("counts").to_pylist(), strict=True):
        counter[registered(host or "") or NOT_KNOWN] += number


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
