"""Documents out of tar archives: each file in one is read as it would be in a folder.

A member is unpacked into a temporary file, one at a time, so that every reader can read it, and bounded, so that an archive
which expands without end fills no disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from pipeline.documents import Batch
from pipeline.errors import InputError
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import Fault, InputFile, Item, Mark, ReadOptions, Split
from pipeline.readers.names import is_meant, kind_by_name
from pipeline.readers.packed import open_packed
from pipeline.readers.stopping import until_stop
from pipeline.readers.tar import Broken, Member, Tar
from pipeline.storage import open_input, temporary_folder

LARGEST, ALWAYS, EXPANDS = 8 << 30, 64 << 20, 500
"""A member is unpacked up to `LARGEST` bytes, and beyond `ALWAYS` only up to `EXPANDS` times what is stored of the archive."""
LOOKED_AT, LOOKED_THROUGH = 64, 100_000
"""Members that show what an archive holds, and members passed over in looking for them."""
NOT_READ = "not read from an archive"
"""What members that are no documents are counted as, with the reason behind it."""
_ONE_DOCUMENT = ("txt", "html")

ReadMember = Callable[[InputFile, ReadOptions], Iterator[Item]]
"""Reads a file that an archive held. Raises InputError for one that cannot be read."""


def shows(file: InputFile, packing: str, look: Callable[[InputFile], set[str]]) -> set[str]:
    """Return what `look` finds in the first files of archive `file`, all together.

    Raises:
        InputError: it holds no file that is read, or what `look` raises where all of them are so.
    """
    found: set[str] = set()
    wrong: InputError | None = None
    count = 0
    with open_input(file.path) as source, _spool() as spool:
        tar = Tar(open_packed(source, packing))
        for passed, member in enumerate(tar):
            if count == LOOKED_AT or passed == LOOKED_THROUGH:
                break
            if isinstance(member, Broken) or why_not(member.path) or member.size > ALWAYS:
                continue
            unpacked = _unpack(tar, spool)
            if tar.missing:
                break
            try:
                found |= look(_as_file(file, member, unpacked))
            except InputError as error:
                wrong = wrong or error
            count += 1
    if not found and wrong is not None:
        raise wrong
    if not found:
        raise InputError(
            f"{file.name} holds no file of a kind that is read from an archive: unpack it and name its files"
        )
    return found


def why_not(path: str) -> str:
    """Return why the member at `path` is not read, empty where it is: the rules are those of a folder."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if any(part.startswith((".", "_")) for part in parts):
        return "hidden"
    name = parts[-1] if parts else ""
    kind = kind_by_name(name)
    if kind in ("tar", "parquet", "arrow") or not is_meant(name):
        _, dot, ending = name.rpartition(".")
        return f".{ending}" if dot and len(ending) <= 8 else "no known ending"
    return ""


@dataclass
class ArchiveReader:
    """Reads one split, which is a whole archive: `read` yields the documents and faults of its members."""

    split: Split
    options: ReadOptions
    packing: str
    read_member: ReadMember
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield batches and faults as they come; members that are not read are counted by their ending."""
        yield from _gathered(self._items(), self.options.batch_bytes)

    def _items(self) -> Iterator[Item]:
        passed = BatchBuilder(self.options.schema, self.options.batch_bytes)
        file = self.split.file
        with open_input(file.path) as source, _spool() as spool:
            feed = open_packed(source, self.packing)
            tar = Tar(feed)
            for member in until_stop(self, iter(tar), 0):
                if isinstance(member, Fault):
                    yield member
                    break
                if isinstance(member, Broken):
                    yield from self._fault(member.offset, "damaged_region", member.detail)
                    continue
                reason = why_not(member.path)
                if reason:
                    passed.ignore(f"{NOT_READ}: {reason}")
                    continue
                for item in self._of(tar, member, spool):
                    yield item
                    if isinstance(item, Fault) and item.number in self.options.stops:
                        return
            if feed.damage:
                rule = "cut_file" if feed.cut else "damaged_region"
                yield from self._fault(tar.offset, rule, f"{feed.damage}; nothing behind it can be read")
        yield from passed.rest(self.number)

    def _of(self, tar: Tar, member: Member, spool: BinaryIO) -> Iterator[Item]:
        """Yield what is in a member."""
        name, start = f"{self.split.file.name}/{_plain(member.path)}", tar.offset
        most = min(LARGEST, max(ALWAYS, EXPANDS * self.split.size))
        if kind_by_name(member.path) in _ONE_DOCUMENT and self.split.file.documents == "file":
            most = min(most, self.options.max_record_bytes)
        if member.size > most:
            why = f"{member.size} bytes, of which {most} are unpacked at most: unpack the archive"
            yield from self._fault(start, "record_too_large", why, name)
            return
        unpacked = _unpack(tar, spool)
        if tar.missing:
            if not tar.feed.damage:
                yield from self._fault(start, "cut_file", f"the archive ends {tar.missing} bytes too soon", name)
            return
        try:
            for item in self.read_member(
                _as_file(self.split.file, member, unpacked), replace(self.options, number=self.number)
            ):
                self.number = item.number if isinstance(item, Mark) else self.number
                yield item
        except InputError as error:
            yield from self._fault(start, "unreadable_member", str(error), name)

    def _fault(self, offset: int, rule: str, detail: str, id: str | None = None) -> Iterator[Item]:
        if self.number in self.options.skip:
            rule, detail = self.options.skip[self.number]
        yield Fault(self.number, offset, rule, detail, id or f"{self.split.file.name}#{offset}")
        self.number += 1
        yield Mark(self.number)


def _plain(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _as_file(archive: InputFile, member: Member, unpacked: str) -> InputFile:
    return replace(archive, path=unpacked, name=f"{archive.name}/{_plain(member.path)}")


@contextlib.contextmanager
def _spool() -> Iterator[BinaryIO]:
    """Yield a temporary file, with a name, that one member after the other is unpacked into."""
    with temporary_folder() as folder, open(folder / "member", "wb") as spool:
        yield spool


def _unpack(tar: Tar, spool: BinaryIO) -> str:
    """Write the member that is read into `spool`, in place of the one before, and return the path."""
    spool.seek(0)
    while piece := tar.read():
        spool.write(piece)
    spool.truncate()
    spool.flush()
    return spool.name


def _gathered(items: Iterator[Item], limit: int) -> Iterator[Item]:
    """Yield `items` with batches that follow one another put together up to `limit` bytes: a member may be one document."""
    held: list[Batch] = []
    size = 0
    mark: Mark | None = None
    for item in items:
        if isinstance(item, Batch):
            held.append(item)
            size += item.data.nbytes
        elif isinstance(item, Mark):
            mark = item
            if size >= limit:
                yield from _together(held)
                yield mark
                held, size, mark = [], 0, None
        else:
            yield item
    yield from _together(held)
    if mark is not None:
        yield mark


def _together(held: list[Batch]) -> list[Batch]:
    if len(held) < 2:
        return held
    data = pa.Table.from_batches([batch.data for batch in held]).combine_chunks().to_batches()[0]
    return [Batch(data, numbers=np.concatenate([batch.numbers for batch in held]))]
