"""Counts the first documents of a split, so that a try-out ends at the same one with any number of workers."""

from __future__ import annotations

from pipeline.documents import Batch
from pipeline.readers import Fault, Mark
from pipeline.worker.read import read_task
from pipeline.worker.tryout import Counting


def count_documents(counting: Counting) -> tuple[int, int | None]:
    """Return how many documents and faults are in the split, `counting.most` at most, and the number behind the last of
    them; None where the split has no more."""
    numbers: list[int] = []
    for item in read_task(counting.task):
        if isinstance(item, Batch):
            numbers += item.numbers.tolist()
        elif isinstance(item, Fault):
            numbers.append(item.number)
        elif isinstance(item, Mark) and len(numbers) > counting.most:
            break
    numbers.sort()
    return (counting.most, numbers[counting.most]) if len(numbers) > counting.most else (len(numbers), None)
