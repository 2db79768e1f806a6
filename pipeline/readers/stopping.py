"""Reading under the guard's eye: it is told what is read next before it is looked for, and reading ends where it must."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from pipeline.guard import NOTHING, guard
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import Fault, Item, ReadOptions, Split

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


def answered(
    reader: Reader,
    found: Iterator[T],
    answer: Callable[[T | Fault], Fault | dict[str, Any] | None],
    batches: BatchBuilder,
) -> Iterator[Item]:
    """Yield, put together by `batches`, what `answer` makes of each thing that `reader` finds, until it is to stop.

    Args:
        answer: returns a document, a fault, or None for what is neither and has no number.
    """
    for item in until_stop(reader, found, reader.split.start):
        made = answer(item)
        if made is not None:
            yield from batches.add(reader.number, made)
            reader.number += 1
    yield from batches.rest(reader.number)


def stopped(split: Split, options: ReadOptions, number: int) -> Fault:
    """Return the fault of a split whose reading ends at document `number`, before its end."""
    rule, detail = options.skip[number]
    detail = f"{detail}; reading ends here, and what follows up to {split.end} is not read"
    return Fault(number, split.start, rule, detail, f"{split.file.name}#{split.start}")
