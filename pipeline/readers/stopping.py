"""Reading under the guard's eye: it is told what is read next before it is looked for, and reading ends where it must."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from pipeline.guard import NOTHING, guard
from pipeline.readers.contract import Fault, ReadOptions, Split

T = TypeVar("T")


class Reader(Protocol):
    """What reads a split; `number` is of the document that it finds next."""

    split: Split
    options: ReadOptions
    number: int


def until_stop(reader: Reader, found: Iterator[T], start: int = NOTHING) -> Iterator[T | Fault]:
    """Yield what `reader` finds, and where it is to stop, the fault that says so.

    The time in which the next thing is looked for counts for the document that will have the next number: a document
    that has been read is not to blame for what stands behind it.

    Args:
        start: offset in the file at which reading begins.
    """
    while reader.number not in reader.options.stops:
        guard.working_on(reader.number, start)
        item = next(found, None)
        if item is None:
            return
        yield item
    yield stopped(reader.split, reader.options, reader.number)


def stopped(split: Split, options: ReadOptions, number: int) -> Fault:
    """Return the fault of a split whose reading ends at document `number`, before its end."""
    rule, detail = options.skip[number]
    detail = f"{detail}; reading ends here, and what follows up to {split.end} is not read"
    return Fault(number, split.start, rule, detail, f"{split.file.name}#{split.start}")
