"""Plain text files, each of which is one document, and pages saved as files."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.guard import guard
from pipeline.readers.batches import BatchBuilder
from pipeline.readers.contract import DEFAULT_SOURCE, Fault, Item, ReadOptions, Split
from pipeline.readers.encodings import decode
from pipeline.readers.packed import open_packed
from pipeline.storage import open_input


def text_encoding(raw: bytes) -> str:
    """Return the encoding of text that nothing declares: UTF-8 where it can be, else what detection sees."""
    from pipeline.readers.charset import decode_page  # the detector's library is loaded for the file that needs it

    try:
        raw.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        if error.start >= len(raw) - 3:
            return "utf-8"  # cut inside its last character
    return decode_page(raw, None).charset


def text_of(raw: bytes, encoding: str) -> str:
    """Return the text in `raw`, a byte order mark taken off."""
    text = raw.decode("utf-8", "replace") if encoding == "utf-8" else decode(raw, encoding)
    return text.removeprefix("\ufeff")


@dataclass
class PlainReader:
    """Reads one split, which is a whole file: `read` yields its one document or fault. A blank file has none."""

    split: Split
    options: ReadOptions
    packing: str
    number: int = 0

    def read(self) -> Iterator[Item]:
        """Yield the document, or why there is none."""
        batches = BatchBuilder(self.options.schema, self.options.batch_bytes)
        answer = self._answer()
        if answer is not None:
            yield from batches.add(self.number, answer)
        yield from batches.rest(self.number + int(answer is not None))

    def _answer(self) -> Fault | dict[str, Any] | None:
        file, limit = self.split.file, self.options.max_record_bytes
        guard.working_on(self.number, 0)
        if self.number in self.options.skip:
            return Fault(self.number, 0, *self.options.skip[self.number], id=file.name)
        raw = bytearray()
        with open_input(file.path) as source:
            feed = open_packed(source, self.packing)
            while len(raw) <= limit and (piece := feed.read()):
                raw += piece
        if len(raw) > limit:
            why = (
                f"more than {limit} bytes; a file of text is one document, unless the recipe says "
                'documents = "line" or "paragraph" in [input]'
            )
            return Fault(self.number, 0, "record_too_large", why, file.name)
        if feed.damage:
            return Fault(self.number, 0, "cut_file" if feed.cut else "damaged_region", feed.damage, file.name)
        data = bytes(raw).removeprefix(codecs.BOM_UTF8)
        if not data.strip():
            return None
        row = {"id": file.name, "source": file.source or DEFAULT_SOURCE, "file": file.name, "offset": 0}
        if self.split.format.partition(".")[0] == "html":
            if "raw" not in self.options.schema.names:
                why = "a page among texts, which the first files of the archive do not show: unpack it"
                return Fault(self.number, 0, "unexpected_page", why, file.name)
            return {**row, "raw": data, "content_type": "text/html"}
        return {**row, "text": text_of(data, text_encoding(data)).replace("\r\n", "\n")}
