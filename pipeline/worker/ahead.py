"""Reading where a record has killed the reader: a fork reads ahead, and its death shows which one it was.

The fork is made where the worker's own reading stands, and reads to the end of the task without making anything of it.
Where it dies, the worker reads on to the last mark that the fork has passed, and the next fork begins there. So what a
worker reads that has died in reading is read twice more, however many of its records kill, and for each of these a few
times from one mark to the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import mmap
import os
import stat
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipeline.guard import NOTHING, guard
from pipeline.readers import Item, Mark
from pipeline.worker.children import Care, Fate, in_child

TRIES = 3
"""Forks that may die, at one record or another, before one of these is left out."""
_NUMBER = struct.Struct("@q")


@dataclass
class Killers:
    """Records that have killed their reader, as `pipeline.readers.ReadOptions` takes them."""

    skip: dict[int, tuple[str, str]] = field(default_factory=dict)
    doubts: set[int] = field(default_factory=set)
    stops: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, skips: Iterable[tuple[int, str, str]], doubts: Iterable[int]) -> Killers:
        """Return what is known already: number, rule and detail of records, twice where leaving one out did not help."""
        skips = list(skips)
        times = Counter(number for number, *_ in skips)
        known = {number: (rule, detail) for number, rule, detail in skips}
        return cls(known, set(doubts), {number for number, count in times.items() if count > 1})

    def blame(self, fate: Fate) -> bool:
        """Take note that reading has died at a record, or in a batch of them; return whether that is news."""
        number = fate.number
        if fate.batch and number not in self.doubts:
            self.doubts.add(number)
        elif number not in self.skip:
            self.skip[number] = fate.rule, fate.detail
        elif number not in self.stops:
            self.stops.add(number)
        else:
            return False
        return True


def looked_ahead(items: Iterator[Item], killers: Killers, care: Care) -> Iterator[Item]:
    """Yield `items`, which a reader yields that looks into `killers`, never further than a fork has come alive."""
    reached = mmap.mmap(-1, _NUMBER.size)
    at, last, tries = NOTHING, NOTHING, 0
    while True:
        _NUMBER.pack_into(reached, 0, at)
        with _places_kept():
            fate = in_child(lambda: _read_on(items, reached), care)
        if not isinstance(fate, Fate) or fate.number == NOTHING:
            break  # it came to the end, or died of nothing that was read
        (mark,) = _NUMBER.unpack_from(reached, 0)
        tries = 1 if mark > at else tries + 1
        # those before it may have leaked the memory that it lacked: it is tried once more, from the last mark on
        exact = fate.batch or fate.rule.endswith("_time")
        if exact or fate.number == last or tries == TRIES:
            if not killers.blame(fate):
                break
            last, tries = NOTHING, 0
        else:
            last = fate.number
        if mark > at:
            yield from _until(items, mark)
            at = mark
    yield from items


def _read_on(items: Iterator[Item], reached: mmap.mmap) -> None:
    """Read to the end, and write down each mark that is passed."""
    for item in items:
        if isinstance(item, Mark):
            _NUMBER.pack_into(reached, 0, item.number)
    guard.begin_task()  # what reading has cost here counts for no document: the worker reads them once more


def _until(items: Iterator[Item], mark: int) -> Iterator[Item]:
    for item in items:
        yield item
        if isinstance(item, Mark) and item.number >= mark:
            return


@contextlib.contextmanager
def _places_kept() -> Iterator[None]:
    """Put files that are read back to where they stood: a fork shares their places with us."""
    places = list(itertools.chain.from_iterable(map(_place, _open_files())))
    try:
        yield
    finally:
        for descriptor, place in places:
            os.lseek(descriptor, place, os.SEEK_SET)


def _open_files() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd")]


def _place(descriptor: int) -> Iterator[tuple[int, int]]:
    """Yield descriptor and place of a file that is open for reading alone; nothing of others."""
    with contextlib.suppress(OSError):
        reads = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        if reads and stat.S_ISREG(os.fstat(descriptor).st_mode):
            yield descriptor, os.lseek(descriptor, 0, os.SEEK_CUR)
