"""Documents out of JSON: an object a line, or values over many lines and the elements of a list.

Invalid UTF-8 is replaced by U+FFFD, as browsers do, and the document is read; what is no JSON object is a fault.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pipeline.errors import BrokenInput, InputError
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import Fault, InputFile, Item, ReadOptions, Split
from pipeline.readers.json_values import parse
from pipeline.readers.lines import Damage, Line, lines, past_blank, values
from pipeline.readers.objects import SAMPLE, Keys, NoText, document, keys_of, type_name
from pipeline.readers.packed import first_bytes
from pipeline.readers.stopping import answered
from pipeline.storage import open_input

HEADS = (1 << 20, 1 << 24)
"""Bytes of a file in which its first objects are looked for; more only where the fewer hold none."""


@dataclass(frozen=True)
class Beginning:
    """What the start of a file holds: JSON objects, other JSON values, and what is no JSON; each at most `SAMPLE`."""

    objects: list[Mapping[str, Any]] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)


def beginning_of(file: InputFile, base: str, packing: str) -> Beginning:
    """Return what the start of `file` holds, which shows what its keys are."""
    for size in HEADS:
        with open_input(file.path) as source:
            head = first_bytes(source, packing, size)
        found = beginning(head, base)
        if found.objects or len(head) < size:
            break
    return found


def beginning(head: bytes, base: str) -> Beginning:
    """Return what `head`, the start of a file of kind `base`, holds; a line that is cut at its end counts for nothing."""
    found = Beginning()
    for line in _records(io.BytesIO(head), base, "", 0, len(head), len(head)):
        if isinstance(line, Damage) or not line.data or not line.data.strip():
            continue
        try:
            value = parse(line.data)
        except ValueError as error:
            if line.offset + line.size < len(head):
                found.bad.append(str(error))
            value = None
        if isinstance(value, dict):
            found.objects.append(value)
        elif value is not None:
            found.others.append(value)
        if SAMPLE in (len(found.objects), len(found.others), len(found.bad)):
            break
    return found


def check_beginning(file: InputFile, found: Beginning) -> None:
    """Refuse `file` where it begins with something else than objects.

    Raises:
        InputError: says what is there instead; BrokenInput where that is no JSON.
    """
    if found.objects or not (found.others or found.bad):
        return
    if found.others:
        what = f"holds no objects: the first value is {type_name(found.others[0])}"
        raise InputError(f'{file.name} {what}; write each document as an object, {{"text": "…"}}, on a line of its own')
    raise BrokenInput(
        f"{file.name} is no JSON, as far as its first {len(found.bad)} lines show ({found.bad[0][:100]}): mend it, name it by "
        "what it is (.txt, .csv), or take it out of input.paths"
    )


def _records(file: BinaryIO, base: str, packing: str, start: int, end: int, limit: int) -> Iterator[Line | Damage]:
    """Yield the lines or the values of a file of kind `base`, the byte order marks that begin them taken off."""
    found = (
        values(file, packing, limit) if base == "json" else lines(file, packing, start, end, limit, passes=past_blank)
    )
    for item in found:
        if isinstance(item, Line) and item.data is not None and item.data.startswith(codecs.BOM_UTF8):
            item.data = item.data.removeprefix(codecs.BOM_UTF8)  # of this file, or of one that was joined to it
        yield item


@dataclass
class JsonlReader:
    """Reads one split: `read` yields its documents and faults."""

    split: Split
    options: ReadOptions
    packing: str
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield batches and faults as they come. Blank lines are no documents and not counted."""
        batches = BatchBuilder(self.options.schema, self.options.batch_bytes)
        base = self.split.format.partition(".")[0]
        keys = keys_of(self.split.file, beginning_of(self.split.file, base, self.packing).objects)
        start, end, limit = self.split.start, self.split.end, self.options.max_record_bytes
        with open_input(self.split.file.path) as file:
            records = _records(file, base, self.packing, start, end, limit)
            yield from answered(self, records, lambda item: self._answer(item, keys), batches)

    def _answer(self, line: Line | Damage | Fault, keys: Keys) -> Fault | dict[str, Any] | None:
        """Return the document in `line`, its fault, or None for a line that is blank or belongs to damage behind it."""
        if not isinstance(line, Line):
            return self._fault_of(line)
        if line.data is None:
            return self._fault(line, "record_too_large", f"a line of {line.size} bytes")
        if not line.data.strip():
            return None
        if self.number in self.options.skip:
            return self._fault(line, *self.options.skip[self.number])
        try:
            value = parse(line.data)
        except ValueError as error:
            return None if line.torn else self._fault(line, "bad_json", str(error))
        if not isinstance(value, dict):
            return None if line.torn else self._fault(line, "not_an_object", f"the line is a {type(value).__name__}")
        found = document(value, keys, self.split.file, line.offset)
        return self._fault(line, found.rule, found.detail, found.id, found.url) if isinstance(found, NoText) else found

    def _fault(self, line: Line, rule: str, detail: str, id: str | None = None, url: str | None = None) -> Fault:
        text = None if line.data is None else line.data.decode("utf-8", "replace")
        return Fault(self.number, line.offset, rule, detail, id or f"{self.split.file.name}#{line.offset}", url, text)

    def _fault_of(self, damage: Damage | Fault) -> Fault:
        if isinstance(damage, Fault):
            return damage
        return Fault(self.number, damage.offset, damage.rule, damage.detail)
