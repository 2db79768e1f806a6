"""A folder on this machine or in an object store, opened alike; what fails in it is said in one line with the file's name."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pathlib
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError, StorageError
from pipeline.storage.local import UNFINISHED, Head, LocalFiles
from pipeline.storage.objects import Objects
from pipeline.storage.tables import encode_table

LEASE = ".lease"
AHEAD = 1 << 20
INPUT_AHEAD = 256 << 10
"""Bytes that the first request to an object store fetches: of a file of ours, which is read whole, and of an input, of which
perhaps only the format is asked."""


@dataclass(frozen=True)
class Folder:
    """A place in storage: an absolute path, or a URL such as ``s3://bucket/prefix``. Picklable; opened when used.

    Every method raises StorageError where storage fails: it names the file, what is wrong and what to do.
    """

    url: str

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.url.rstrip('/')}/{name}")

    # writing

    def put(self, name: str, data: bytes, *, create: bool = False) -> None:
        """Write `data` as file `name`, whole or not at all.

        Args:
            name: file below this folder; folders in between are made.
            create: refuse to replace a file that is there already. In an object store a file with the very same
                content is taken for our own, whose reply was lost.
        """
        with self._writes(name):
            files_of(self.url).put(name, data, create=create)

    def create(self, name: str, data: bytes) -> bool:
        """Write `data`, its writer's own, as file `name` where there is none; return whether it is there now."""
        with self._writes(name):
            try:
                files_of(self.url).put(name, data, create=True)
            except FileExistsError:
                return False
            return True

    @contextlib.contextmanager
    def writing(self, name: str, *, create: bool = False) -> Iterator[BinaryIO]:
        """Yield a binary file that appears as `name` when the block ends well, whole; else nothing is left of it."""
        with self._writes(name), files_of(self.url).writing(name, create=create) as file:
            yield file

    def put_json(self, name: str, value: Any, *, create: bool = False) -> None:
        """Write `value` as JSON, keys in their order, one line break at the end."""
        self.put(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), create=create)

    def put_table(self, name: str, table: pa.Table) -> str:
        """Write `table` as Parquet and return the SHA-256 of the file."""
        data = encode_table(table)
        self.put(name, data)
        return hashlib.sha256(data).hexdigest()

    def copy(self, source: Folder, name: str, new_name: str | None = None) -> None:
        """Make a copy of file `name` of `source` here, as `new_name`; a change of either never shows in the other."""
        theirs, ours, new_name = files_of(source.url), files_of(self.url), new_name or name
        with self._writes(new_name):
            if type(theirs) is type(ours):
                ours.copy(theirs, name, new_name)  # type: ignore[arg-type]
            else:
                ours.put(new_name, source.get(name))

    def link(self, name: str, to: str) -> None:
        """Make file `name` appear as `to` too, without its bytes lying there twice where storage can do that."""
        files = files_of(self.url)
        with self._writes(to):
            if isinstance(files, LocalFiles):
                files.link(name, to)
            else:
                files.copy(files, name, to)

    def move(self, name: str, to: str) -> None:
        """Make file `name` appear as `to`, in place of what is there."""
        with self._writes(to):
            files_of(self.url).move(name, to)

    def delete(self, name: str) -> None:
        """Delete file `name` if it is there."""
        with self._writes(name, "delete"):
            files_of(self.url).delete(name)

    def remove_tree(self, name: str) -> None:
        """Delete folder `name` below this one and all that is in it, if it is there."""
        with self._writes(name, "delete"):
            files_of(self.url).remove_tree(name)

    def sweep(self) -> list[str]:
        """Delete what dead writers left unfinished, and return its names."""
        with self._writes("", "clean"):
            return files_of(self.url).sweep()

    # reading

    def get(self, name: str) -> bytes:
        """Return the content of file `name`."""
        with self._reads(name):
            return files_of(self.url).get(name)

    def get_range(self, name: str, start: int, length: int) -> bytes:
        """Return `length` bytes of file `name` from `start`; fewer where it ends before."""
        return self.get_ranges(name, [(start, length)])[0]

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return `length` bytes from `start` of file `name` for each (start, length)."""
        with self._reads(name):
            return files_of(self.url).get_ranges(name, ranges)

    def get_json(self, name: str) -> Any:
        """Return the JSON value in file `name`."""
        try:
            return json.loads(self.get(name))
        except ValueError as error:
            raise self._torn(name, error) from error

    def get_number(self, name: str) -> float:
        """Return the number in file `name`, one that is nice to know; 0 where there is none or it is torn."""
        try:
            value = self.get_json(name)
        except StorageError:
            return 0.0
        return float(value) if isinstance(value, (int, float)) else 0.0

    def get_table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """Return the Parquet file `name`, or `columns` of it."""
        with self.parquet(name) as file:
            return file.read(columns=columns)

    @contextlib.contextmanager
    def parquet(self, name: str, ahead: int = AHEAD) -> Iterator[pq.ParquetFile]:
        """Yield the Parquet file `name`, opened; what is found torn while it is read is a StorageError too. See `open`."""
        with self.open(name, ahead) as file:
            try:
                yield pq.ParquetFile(file)
            except (pa.ArrowInvalid, pa.ArrowIndexError, UnicodeDecodeError, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:  # the disk's; pyarrow gives no number
                    raise StorageError(f"cannot read {self._named(name)} ({_said(error)})") from error
                raise self._torn(name, error) from error

    def foreign(self, name: str, wanted: str) -> StorageError:
        """Return the error of a file `name` that can be read but is not what this run made: it should hold `wanted`."""
        return self._torn(name, ValueError(f"it should hold {wanted}"))

    def open(self, name: str, ahead: int = AHEAD) -> BinaryIO:
        """Return file `name` as a seekable binary file; `ahead`: bytes that the first request to an object store fetches."""
        with self._reads(name):
            return files_of(self.url).open(name, ahead)

    # looking

    def exists(self, name: str) -> bool:
        """Return whether there is a file `name`."""
        try:
            with self._reads(name):
                files_of(self.url).head(name)
        except Missing:
            return False
        return True

    def head(self, name: str) -> Head:
        """Return size, time of change and, in an object store, the ETag of file `name`."""
        with self._reads(name):
            return files_of(self.url).head(name)

    def size(self, name: str) -> int:
        """Return the bytes of file `name`."""
        return self.head(name).size

    def names(self, prefix: str = "") -> list[str]:
        """Return the files below folder `prefix` of this one, as paths from here, sorted. Unfinished ones and the lease
        are no files."""
        with self._reads(prefix):
            found = list(files_of(self.url).names(prefix))
        return sorted(name for name in found if name != LEASE and not UNFINISHED.search(name))

    def heads(self) -> list[Head]:
        """Return size and time of change of every file below this folder, in no particular order."""
        with self._reads(""):
            return list(files_of(self.url).heads())

    def children(self, prefix: str = "") -> list[str]:
        """Return the names of the folders directly below folder `prefix` of this one, sorted."""
        with self._reads(prefix):
            return sorted(files_of(self.url).children(prefix))

    def path(self, name: str = "") -> pathlib.Path | None:
        """Return `name` as a path on this machine, or None where the folder lies in an object store."""
        files = files_of(self.url)
        return files.root / name if isinstance(files, LocalFiles) else None

    # what goes wrong, as a person should read it

    @contextlib.contextmanager
    def _reads(self, name: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Missing(
                f"{self._named(name)} is missing; delete the folder that it belongs to and run again"
            ) from error
        except OSError as error:
            raise StorageError(f"cannot read {self._named(name)} ({_said(error)})") from error

    @contextlib.contextmanager
    def _writes(self, name: str, what: str = "write") -> Iterator[None]:
        try:
            yield
        except IsADirectoryError as error:
            raise StorageError(
                f"{self._named(name)} is a folder where a file belongs; remove it and run again"
            ) from error
        except FileExistsError as error:
            raise StorageError(f"{self._named(name)} exists already: another run writes to this folder") from error
        except OSError as error:
            raise StorageError(
                f"cannot {what} {self._named(name)} ({_said(error)}); free space or mend permissions, then run again: "
                "finished shards are kept"
            ) from error

    def _torn(self, name: str, error: BaseException) -> StorageError:
        return StorageError(
            f"{self._named(name)} is torn or was changed by another program ({_said(error)}); delete it and run again"
        )

    def _named(self, name: str) -> str:
        return f"{self.url.rstrip('/')}/{name}" if name else self.url


class Missing(StorageError):
    """A file that is not there."""


def files_of(url: str) -> LocalFiles | Objects:
    """Return the files below `url`: a path, a ``file://`` URL, or a URL of an object store."""
    if url.startswith("file://"):
        return LocalFiles(pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path)))
    return Objects(url.rstrip("/")) if "://" in url else LocalFiles(pathlib.Path(url))


def _said(error: BaseException) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split())[:300] or type(error).__name__


def open_input(path: str, ahead: int = INPUT_AHEAD) -> BinaryIO:
    """Return an input file, on this machine or in an object store, as a seekable binary file.

    Args:
        ahead: bytes that the first request to an object store fetches.
    Raises:
        InputError: the file is missing or may not be read.
    """
    files, name = _input(path)
    try:
        return files.open(name, ahead)
    except OSError as error:
        raise InputError(f"cannot read {path} ({_said(error)}); mend the path or its permissions") from error


def head_input(path: str) -> Head:
    """Return size, time of change and ETag of an input file. Raises InputError as `open_input` does."""
    files, name = _input(path)
    try:
        return files.head(name)
    except OSError as error:
        raise InputError(f"cannot read {path} ({_said(error)}); mend the path or its permissions") from error


def digest_file(path: str, chunk: int = 1 << 20) -> str:
    """Return the SHA-256 of a file's content."""
    sha = hashlib.sha256()
    with open_input(path) as file:
        while block := file.read(chunk):
            sha.update(block)
    return sha.hexdigest()


def _input(path: str) -> tuple[LocalFiles | Objects, str]:
    folder, _, name = path.rpartition("/")
    return files_of(folder or ("/" if path.startswith("/") else ".")), name
