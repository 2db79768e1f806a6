"""Objects below a URL, through obstore: every call has a deadline and is tried again, and what obstore raises comes out as
the OSError that a folder on this machine would raise."""

from __future__ import annotations

import contextlib
import io
import os
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PermissionDeniedError, PreconditionError
from obstore.store import from_url

from pipeline.errors import StorageError
from pipeline.storage.local import Head

REQUEST_SECONDS = float(os.environ.get("TOKENMILL_REQUEST_SECONDS", "120"))
"""Deadline of one request, body included: a shard must come through in it. One is tried again for three times as long."""
CONNECT_SECONDS = 5
RETRIES = 10
"""Waits double from 0.1 s to 10 s: a server may be away for 40 s."""
LOST_REPLIES = 3
"""How often a conditional write is tried whose reply was lost; obstore does not repeat those itself."""
_SETTINGS = ("AWS_", "GOOGLE_", "AZURE_")


class Changed(OSError):
    """A conditional write found another version than the one it was to replace."""


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except NotFoundError as error:
        raise FileNotFoundError(_first_line(error)) from error
    except AlreadyExistsError as error:
        raise FileExistsError(_first_line(error)) from error
    except PermissionDeniedError as error:
        raise PermissionError(_first_line(error)) from error
    except PreconditionError as error:
        raise Changed(_first_line(error)) from error
    except BaseError as error:
        raise OSError(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    """Return what obstore says without the debug output that it adds behind."""
    said = str(error).split("\n\nDebug source:")[0]
    return " ".join(said.split())[:400]


def _store(url: str) -> Any:
    """Return obstore's store for `url`, opened with what the environment says now."""
    return _opened(url, tuple(item for item in os.environ.items() if item[0].startswith(_SETTINGS)))


@lru_cache(maxsize=256)
def _opened(url: str, settings: tuple[tuple[str, str], ...]) -> Any:
    options: Any = {
        "timeout": timedelta(seconds=REQUEST_SECONDS),
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
    }
    endpoint = (
        url if url.startswith("http") else os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT", "")
    )
    if urllib.parse.urlsplit(endpoint).hostname in ("127.0.0.1", "::1", "localhost"):
        options["allow_http"] = True
    backoff: Any = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=10), "base": 2}
    retry: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=3 * REQUEST_SECONDS), "backoff": backoff}
    with _as_os_error():
        return from_url(url, client_options=options, retry_config=retry)


@dataclass(frozen=True)
class Objects:
    """The objects below `url`, such as ``s3://bucket/prefix``."""

    url: str

    @contextlib.contextmanager
    def writing(self, name: str, *, create: bool = False) -> Iterator[BinaryIO]:
        """Yield a file that becomes object `name` when the block ends well; otherwise nothing is left of it.

        With `create` it is held in memory, for only whole objects can be put on a condition.
        """
        if create:
            held = io.BytesIO()
            yield held
            self.put(name, held.getvalue(), create=True)
            return
        with _as_os_error():
            writer = obstore.open_writer(_store(self.url), name)
        try:
            yield cast(BinaryIO, _ObjectSink(writer))
        except BaseException as error:
            writer.__exit__(type(error), error, error.__traceback__)  # publishes nothing
            raise
        with _as_os_error():
            writer.close()

    def put(self, name: str, data: bytes, *, create: bool = False) -> None:
        """Write `data` as object `name`. Raises FileExistsError where another one is there and `create` is set."""
        if not create:
            with _as_os_error():
                obstore.put(_store(self.url), name, data)
            return
        self.put_if(name, data, "create")

    def put_if(self, name: str, data: bytes, condition: Any) -> str | None:
        """Write `data` on a condition of obstore's (``"create"`` or ``{"e_tag": ...}``) and return its ETag.

        A reply that was lost after the server stored the object is recognised by reading it back, so `data` must be
        its writer's own where that matters.

        Raises:
            FileExistsError, Changed: the condition does not hold.
        """
        for attempt in range(1, LOST_REPLIES + 1):
            try:
                with _as_os_error():
                    return obstore.put(_store(self.url), name, data, mode=condition, use_multipart=False)["e_tag"]
            except OSError as error:
                with contextlib.suppress(FileNotFoundError):
                    if self.get(name) == data:
                        return self.head(name).tag
                if isinstance(error, (FileExistsError, Changed, PermissionError)) or attempt == LOST_REPLIES:
                    raise
        raise AssertionError

    def get(self, name: str) -> bytes:
        """Return the content of object `name`."""
        with _as_os_error():
            return bytes(obstore.get(_store(self.url), name).bytes())

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return `length` bytes from `start` for each (start, length); neighbours are fetched together."""
        starts, lengths = [start for start, _ in ranges], [length for _, length in ranges]
        with _as_os_error():
            parts = obstore.get_ranges(_store(self.url), name, starts=starts, lengths=lengths, coalesce=64 << 10)
            return [bytes(part) for part in parts]

    def head(self, name: str) -> Head:
        """Return size, time of change and ETag of object `name`."""
        with _as_os_error():
            found = obstore.head(_store(self.url), name)
        return Head(found["size"], int(found["last_modified"].timestamp() * 1e9), found["e_tag"])

    def names(self, prefix: str) -> Iterator[str]:
        """Yield all objects below `prefix`."""
        with _as_os_error():
            for page in obstore.list(_store(self.url), prefix.strip("/") or None):
                yield from (item["path"] for item in page)

    def children(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly below `prefix`."""
        with _as_os_error():
            found = obstore.list_with_delimiter(_store(self.url), prefix.strip("/") or None)["common_prefixes"]
        yield from (name.rstrip("/").rsplit("/", 1)[-1] for name in found)

    def delete(self, name: str) -> None:
        """Delete object `name` if it is there."""
        with _as_os_error(), contextlib.suppress(NotFoundError):
            obstore.delete(_store(self.url), name)

    def remove_tree(self, name: str) -> None:
        """Delete all objects below folder `name`."""
        with _as_os_error():
            for page in obstore.list(_store(self.url), name.strip("/")):
                obstore.delete(_store(self.url), [item["path"] for item in page])

    def copy(self, source: Objects, name: str, new_name: str) -> None:
        """Copy an object of `source` to `new_name` here: on the server within a bucket, else through this machine."""
        common = _common(self.url, source.url)
        if common is None:
            self.put(new_name, source.get(name))
            return
        theirs, ours = f"{source.url}/{name}"[len(common) + 1 :], f"{self.url}/{new_name}"[len(common) + 1 :]
        with _as_os_error():
            obstore.copy(_store(common), theirs, ours)

    def move(self, name: str, to: str) -> None:
        """Copy object `name` to `to` on the server, and delete it."""
        self.copy(self, name, to)
        self.delete(name)

    def open(self, name: str, ahead: int) -> BinaryIO:
        """Return object `name` as a seekable binary file that fetches `ahead` bytes at least."""
        with _as_os_error():
            reader = obstore.open_reader(_store(self.url), name, buffer_size=ahead)
        return io.BufferedReader(_ObjectFile(reader, f"{self.url}/{name}"), ahead)

    def sweep(self) -> list[str]:
        """Nothing unfinished is ever shown by an object store; parts of broken uploads are its own to expire."""
        return []


def _common(one: str, other: str) -> str | None:
    """Return the URL that both lie below, at least a bucket."""
    ours, theirs = one.split("/"), other.split("/")
    shared = [a for a, b in zip(ours, theirs, strict=False) if a == b]
    if ours[: len(shared)] != shared or theirs[: len(shared)] != shared:
        shared = shared[:3] if ours[:3] == theirs[:3] else []
    return "/".join(shared) if len(shared) >= 3 else None


class _ObjectSink(io.RawIOBase):
    """An obstore writer as a raw binary file."""

    def __init__(self, writer: Any):
        super().__init__()
        self._writer = writer
        self._at = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        with _as_os_error():
            self._writer.write(data)
        self._at += memoryview(data).nbytes
        return memoryview(data).nbytes


class _ObjectFile(io.RawIOBase):
    """An obstore reader as a raw binary file, so that it can be buffered and closed like any other.

    What fails in the middle is a StorageError: whoever reads must not take it for damage of the content.
    """

    def __init__(self, reader: Any, name: str):
        super().__init__()
        self._reader = reader
        self._name = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def readinto(self, buffer: Any) -> int:
        try:
            data = memoryview(self._reader.read(len(buffer)))
        except (BaseError, OSError) as error:
            raise StorageError(f"cannot read {self._name} ({_first_line(error)})") from error
        buffer[: len(data)] = data
        return len(data)
