"""The one door to storage: a folder on this machine or an object store, opened alike. Nothing else writes files.

A file appears whole or not at all: obstore stages it beside its place and renames (folders), or publishes
it at the end of the upload (object stores).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import LocalStore, from_url

from pipeline.errors import InputError, StorageError

# obstore raises the built-in errors for folders and its own for object stores
MISSING = (NotFoundError, FileNotFoundError)
TAKEN = (AlreadyExistsError, FileExistsError)

ROW_GROUP_BYTES = 64 << 20
"""Text per row group: a reader of one shard needs no more than about twice this."""


@dataclass(frozen=True)
class Folder:
    """A place in storage: an absolute path, or a URL such as ``s3://bucket/prefix``. Picklable; opened when used."""

    url: str

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.url.rstrip('/')}/{name}")

    def put(self, name: str, data: bytes, *, create: bool = False) -> None:
        """Write `data` as file `name`, whole or not at all.

        Args:
            name: file below this folder; folders in between are made.
            create: refuse to replace a file that is there already.
        Raises:
            StorageError: full disk, no permission, or, with `create`, the file exists.
        """
        try:
            obstore.put(_store(self.url), name, data, mode="create" if create else "overwrite")
        except TAKEN as error:
            raise StorageError(f"{self.url}/{name} exists already: another run writes to this folder") from error
        except (BaseError, OSError) as error:
            raise StorageError(
                f"cannot write {self.url}/{name} ({_short(error)}); free space or mend permissions, then run again: "
                "finished shards are kept"
            ) from error

    def get(self, name: str) -> bytes:
        """Return the content of file `name`. Raises StorageError where it cannot be read."""
        try:
            return bytes(obstore.get(_store(self.url), name).bytes())
        except MISSING as error:
            raise StorageError(f"{self.url}/{name} is missing; delete the run folder's pass and run again") from error
        except (BaseError, OSError) as error:
            raise StorageError(f"cannot read {self.url}/{name} ({_short(error)})") from error

    def exists(self, name: str) -> bool:
        """Return whether there is a file `name`."""
        try:
            obstore.head(_store(self.url), name)
        except MISSING:
            return False
        return True

    def names(self, prefix: str = "") -> list[str]:
        """Return the files below this folder whose path starts with folder `prefix`, sorted, unfinished ones left out."""
        found = [item["path"] for page in obstore.list(_store(self.url), prefix or None) for item in page]
        return sorted(name for name in found if "#" not in name.rsplit("/", 1)[-1])

    def delete(self, name: str) -> None:
        """Delete file `name` if it is there."""
        try:
            obstore.delete(_store(self.url), name)
        except MISSING:
            return

    def link(self, source: Folder, name: str) -> None:
        """Make file `name` of `source` appear here too: a hard link where the file system has them, else a copy."""
        theirs, ours = source.path(name), self.path(name)
        if theirs is None or ours is None:
            self.put(name, source.get(name))
            return
        ours.parent.mkdir(parents=True, exist_ok=True)
        staged = ours.with_name(f"{ours.name}#link")
        staged.unlink(missing_ok=True)
        try:
            os.link(theirs, staged)
        except OSError:
            self.put(name, source.get(name))
            return
        os.replace(staged, ours)

    def mirror(self, source: Folder, names: Collection[str]) -> None:
        """Make this folder hold exactly the files `names` of `source`: links where the file system has them."""
        for stale in sorted(set(self.names()) - set(names)):
            self.delete(stale)
        for name in names:
            self.link(source, name)

    def put_json(self, name: str, value: Any, *, create: bool = False) -> None:
        """Write `value` as JSON, keys in their order, one line break at the end."""
        self.put(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), create=create)

    def get_json(self, name: str) -> Any:
        """Return the JSON value in file `name`."""
        return json.loads(self.get(name))

    def put_table(self, name: str, table: pa.Table) -> str:
        """Write `table` as Parquet and return the SHA-256 of the file."""
        data = encode_table(table)
        self.put(name, data)
        return hashlib.sha256(data).hexdigest()

    def get_table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """Return the Parquet file `name`, or `columns` of it."""
        with self.open(name) as file:
            return pq.read_table(file, columns=columns)

    def open(self, name: str) -> BinaryIO:
        """Return file `name` as a seekable binary file."""
        return open_input(f"{self.url.rstrip('/')}/{name}")

    def path(self, name: str = "") -> pathlib.Path | None:
        """Return `name` as a path on this machine, or None where the folder lies in an object store."""
        return None if "://" in self.url else pathlib.Path(self.url) / name


@lru_cache(maxsize=256)
def _store(url: str) -> Any:
    if "://" in url:
        return from_url(url)
    return LocalStore(prefix=url, mkdir=True)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def encode_table(table: pa.Table) -> bytes:
    """Return `table` as a Parquet file: zstd 3, text without dictionary, row groups bounded by bytes."""
    sink = io.BytesIO()
    with shard_writer(sink, table.schema) as writer:
        write_bounded(writer, table)
    return sink.getvalue()


def shard_writer(sink: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """Return a Parquet writer with the project's settings; the same tables give the same bytes."""
    return pq.ParquetWriter(sink, schema, compression="zstd", compression_level=3, use_dictionary=False)


def write_bounded(writer: pq.ParquetWriter, table: pa.Table) -> None:
    """Write `table` in row groups of at most about `ROW_GROUP_BYTES`."""
    rows = max(1, table.num_rows)
    per_row = max(1, table.nbytes // rows)
    writer.write_table(table, row_group_size=max(1, ROW_GROUP_BYTES // per_row))


def open_input(path: str) -> BinaryIO:
    """Return an input file, on this machine or in an object store, as a seekable binary file.

    Raises:
        InputError: the file is missing or may not be read.
    """
    if "://" not in path:
        try:
            return open(path, "rb")
        except OSError as error:
            raise InputError(f"cannot read {path} ({error.strerror}); mend the path or its permissions") from error
    folder, _, name = path.rpartition("/")
    try:
        return io.BufferedReader(_ObjectFile(obstore.open_reader(_store(folder), name)), 1 << 20)
    except (BaseError, OSError) as error:
        raise InputError(f"cannot read {path} ({_short(error)})") from error


class _ObjectFile(io.RawIOBase):
    """An obstore reader as a raw binary file, so that it can be buffered and closed like any other."""

    def __init__(self, reader: Any):
        super().__init__()
        self._reader = reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def readinto(self, buffer: Any) -> int:
        data = memoryview(self._reader.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def digest_file(path: str, chunk: int = 1 << 20) -> str:
    """Return the SHA-256 of a file's content."""
    sha = hashlib.sha256()
    with open_input(path) as file:
        while block := file.read(chunk):
            sha.update(block)
    return sha.hexdigest()
