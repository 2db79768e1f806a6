"""Objects below a URL, through obstore: every call has a deadline and is tried again, and what obstore raises comes out as
the OSError that a folder on this machine would raise."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, BinaryIO, TypeVar, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PermissionDeniedError, PreconditionError
from obstore.store import from_url

from pipeline.errors import StorageError
from pipeline.storage.local import Head
from pipeline.storage.settings import environment, options_of

REQUEST_SECONDS = float(os.environ.get("TOKENMILL_REQUEST_SECONDS", "120"))
"""Deadline of one request, body included: a shard must come through in it."""
CONNECT_SECONDS = 5
RETRIES = 5
"""How often obstore repeats a request by itself, within seconds."""
PATIENT = 40
"""How often it repeats the parts of an upload, which only it can: for about as long as a server may be away."""
AWAY_SECONDS = float(os.environ.get("TOKENMILL_AWAY_SECONDS", "60"))
"""How long a server may be away, or answer with errors, until what was asked of it fails. Conditional writes whose reply was
lost, and lists that broke off, are repeated here alone, for obstore does not."""
PAUSES = (0.1, 0.3, 1.0, 3.0)
"""Seconds between such repetitions; the last one from then on."""
HASTY_SECONDS, HASTY_RETRIES = 4.0, 2
"""Deadline of a request, and its repetitions, where a store is spoken to for the first time: see `hastily`."""
_haste = threading.local()


class Changed(OSError):
    """A conditional write found another version than the one it was to replace."""


class Final(OSError):
    """The store cannot do what it was asked, and says so: no repetition helps."""


_FINAL = re.compile(r"status code: 4(?!08|29)\d\d|not supported|builder error")


class Refused(PermissionError):
    """The store says no for good: no such bucket, no permission, wrong keys, another region. Nothing is gained by retrying."""


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except BaseError as error:
        said = said_by(error)
        if isinstance(error, AlreadyExistsError):
            raise FileExistsError(said) from error
        if isinstance(error, PreconditionError):
            raise Changed(said) from error
        if isinstance(error, PermissionDeniedError) or _is_final(error):
            raise Refused(said) from error
        if isinstance(error, NotFoundError):
            raise FileNotFoundError(errno.ENOENT, "there is no such object") from error
        raise (Final if _FINAL.search(str(error)) else OSError)(said) from error


_REFUSALS = {
    "NoSuchBucket": "there is no such bucket",
    "The specified bucket does not exist": "there is no such bucket",
    "SignatureDoesNotMatch": "the secret key is wrong",
    "InvalidAccessKeyId": "the server does not know this access key",
    "ExpiredToken": "the credentials have expired",
    "AuthorizationHeaderMalformed": "the bucket lies in another region: set AWS_REGION, or storage.region",
    "PermanentRedirect": "the bucket lies in another region: set AWS_REGION, or storage.region",
    "IllegalLocationConstraint": "the bucket lies in another region: set AWS_REGION, or storage.region",
    "redirect without LOCATION": "the bucket lies in another region: set AWS_REGION, or storage.region",
    "http://169.254.169.254": "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; "
    "for open data, storage.anonymous = true",
    "metadata.google.internal": "no credentials were found: set GOOGLE_APPLICATION_CREDENTIALS",
    "builder error": "plain http is refused but for this machine: set storage.allow_http = true",
    "AccessDenied": "these credentials have no permission for it",
    "403 Forbidden": "these credentials have no permission for it",
    "401 Unauthorized": "these credentials have no permission for it",
}
"""What a store or obstore says of requests that no repetition helps -> what it means. The first that is found holds."""
_REGION = re.compile(r"expecting '([\w-]+)'|<Region>([\w-]+)</Region>|x-amz-bucket-region\W+([\w-]+)")


def _refusal(said: str) -> str:
    meaning = next((meaning for sign, meaning in _REFUSALS.items() if sign in said), "")
    region = _REGION.search(said)
    if "another region" in meaning and region:
        meaning += f" (the server names {next(filter(None, region.groups()))})"
    return meaning


def _is_final(error: BaseException) -> bool:
    """Return whether the store refuses for good. A machine's role that cannot be had now was had when the run began."""
    said = str(error)
    return bool(_refusal(said)) and ("169.254.169.254" not in said or _is_hasty())


def said_by(error: BaseException) -> str:
    """Return what an error of obstore means, or what it says without the debug output that it adds behind."""
    said = str(error).split("\n\nDebug source:")[0]
    if meaning := _refusal(str(error)):
        return meaning
    if "error sending request" in said:
        place = re.search(r"https?://[^/\s]+", said)
        return f"no connection to {place[0] if place else 'the server'}: it is down, or the endpoint is wrong"
    return " ".join(said.split())[:400]


@contextlib.contextmanager
def hastily() -> Iterator[None]:
    """Ask once or twice and for a few seconds only, in this thread: what is wrong with a store at first sight must be
    said at first sight, not after the patience that a server deserves while a run is under way."""
    _haste.on = True
    try:
        yield
    finally:
        _haste.on = False


def _store(url: str, retries: int | None = None) -> Any:
    """Return obstore's store for `url`, opened with what the environment says now."""
    return _opened(url, environment(), _is_hasty(), RETRIES if retries is None else retries)


def _is_hasty() -> bool:
    return bool(getattr(_haste, "on", False))


def has_opened() -> bool:
    """Whether this process has opened an object store: threads speak to it then, which a fork would lack."""
    return _opened.cache_info().misses > 0


@lru_cache(maxsize=256)
def _opened(url: str, said: tuple[tuple[str, str], ...], hasty: bool, retries: int) -> Any:
    store: Any
    store, client = options_of(url)
    seconds, retries = (HASTY_SECONDS, HASTY_RETRIES) if hasty else (REQUEST_SECONDS, retries)
    window = max(3 * seconds, AWAY_SECONDS) if retries == PATIENT else 3 * seconds
    options: Any = {
        "timeout": timedelta(seconds=seconds),
        "connect_timeout": timedelta(seconds=seconds / 2 if hasty else CONNECT_SECONDS),
        **client,
    }
    backoff: Any = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=10), "base": 2}
    retry: Any = {"max_retries": retries, "retry_timeout": timedelta(seconds=window), "backoff": backoff}
    with _as_os_error():
        return from_url(url, config=store or None, client_options=options, retry_config=retry)


T = TypeVar("T")


def _again(ask: Callable[[], T]) -> T:
    """Return what `ask` returns, asking again for `AWAY_SECONDS` where it failed in a way that may pass."""
    for pause in _pauses():
        try:
            with _as_os_error():
                return ask()
        except (FileNotFoundError, FileExistsError, Changed, Refused, Final):
            raise
        except OSError:
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError


def _pauses() -> Iterator[float | None]:
    """Yield how long to wait if this attempt fails; None for the last."""
    until = time.monotonic() + (HASTY_SECONDS if _is_hasty() else AWAY_SECONDS)
    for pause in itertools.chain(PAUSES, itertools.repeat(PAUSES[-1])):
        if time.monotonic() + pause > until:
            yield None
            return
        yield pause


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
            writer = obstore.open_writer(_store(self.url, PATIENT), name)
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
            _again(lambda: obstore.put(_store(self.url), name, data))
            return
        self.put_if(name, data, "create")

    def put_if(self, name: str, data: bytes, condition: Any) -> str | None:
        """Write `data` on a condition of obstore's (``"create"`` or ``{"e_tag": ...}``) and return its ETag.

        A reply that was lost after the server stored the object is recognised by reading it back, so `data` must be
        its writer's own where that matters.

        Raises:
            FileExistsError, Changed: the condition does not hold.
        """
        for pause in _pauses():
            try:
                with _as_os_error():
                    return obstore.put(_store(self.url), name, data, mode=condition, use_multipart=False)["e_tag"]
            except OSError as error:
                with contextlib.suppress(FileNotFoundError):
                    if self.get(name) == data:
                        return self.head(name).tag
                if isinstance(error, (FileExistsError, Changed, Refused, Final)) or pause is None:
                    raise
                time.sleep(pause)
        raise AssertionError

    def get(self, name: str) -> bytes:
        """Return the content of object `name`."""
        return _again(lambda: bytes(obstore.get(_store(self.url), name).bytes()))

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return `length` bytes from `start` for each (start, length); neighbours are fetched together."""
        starts, lengths = [start for start, _ in ranges], [length for _, length in ranges]
        get = obstore.get_ranges
        parts = _again(lambda: get(_store(self.url), name, starts=starts, lengths=lengths, coalesce=64 << 10))
        return [bytes(part) for part in parts]

    def head(self, name: str) -> Head:
        """Return size, time of change and ETag of object `name`."""
        return _head(_again(lambda: obstore.head(_store(self.url), name)))

    def names(self, prefix: str) -> Iterator[str]:
        """Yield all objects below `prefix`."""
        yield from (item["path"] for item in self._listed(prefix))

    def heads(self) -> Iterator[Head]:
        """Yield size, time of change and ETag of all objects."""
        yield from (_head(item) for item in self._listed(""))

    def _listed(self, prefix: str) -> list[Any]:
        pages = lambda: list(obstore.list(_store(self.url), prefix.strip("/") or None))  # noqa: E731
        return [item for page in _again(pages) for item in page]

    def children(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly below `prefix`."""
        found = _again(lambda: obstore.list_with_delimiter(_store(self.url), prefix.strip("/") or None))[
            "common_prefixes"
        ]
        yield from (name.rstrip("/").rsplit("/", 1)[-1] for name in found)

    def delete(self, name: str) -> None:
        """Delete object `name` if it is there."""
        with contextlib.suppress(FileNotFoundError):
            _again(lambda: obstore.delete(_store(self.url), name))

    def remove_tree(self, name: str) -> None:
        """Delete all objects below folder `name`."""
        names = list(self.names(name))
        for at in range(0, len(names), 1000):
            _again(lambda some=names[at : at + 1000]: obstore.delete(_store(self.url), some))  # type: ignore[misc]

    def copy(self, source: Objects, name: str, new_name: str) -> None:
        """Copy an object of `source` to `new_name` here: on the server within a bucket, else through this machine."""
        common = _common(self.url, source.url)
        if common is None:
            self.put(new_name, source.get(name))
            return
        theirs, ours = f"{source.url}/{name}"[len(common) + 1 :], f"{self.url}/{new_name}"[len(common) + 1 :]
        _again(lambda: obstore.copy(_store(common), theirs, ours))

    def move(self, name: str, to: str) -> None:
        """Copy object `name` to `to` on the server, and delete it."""
        self.copy(self, name, to)
        self.delete(name)

    def open(self, name: str, ahead: int) -> BinaryIO:
        """Return object `name` as a seekable binary file; `ahead`: bytes that the first request fetches."""
        return io.BufferedReader(_ObjectFile(_store(self.url), name, f"{self.url}/{name}", ahead), 64 << 10)

    def sweep(self) -> list[str]:
        """Nothing unfinished is ever shown by an object store; parts of broken uploads are its own to expire."""
        return []


def _head(found: Any) -> Head:
    return Head(found["size"], int(found["last_modified"].timestamp() * 1e9), found["e_tag"])


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


MOST_AHEAD = 16 << 20
"""What one request fetches at most of a file that is read from front to back."""

MOST_WHOLE = 256 << 20
"""What is held in memory at most of a file whose server knows no ranges of bytes."""


class _ObjectFile(io.RawIOBase):
    """An object as a raw binary file: fetched in blocks that grow while it is read from front to back, so that looking
    at the head of a file costs one small request and reading all of it a few large ones.

    What fails in the middle is a StorageError: whoever reads must not take it for damage of the content. So is an object
    that another one has taken the place of.
    """

    def __init__(self, store: Any, name: str, shown: str, ahead: int):
        super().__init__()
        self._store, self._name, self._shown = store, name, shown
        self._at, self._next = 0, ahead
        self._start, self._block, self._tag = 0, b"", None
        try:
            got, self._block = self._get(0, ahead)
            self._size, self._tag = got.meta["size"], got.meta["e_tag"]
        except FileNotFoundError:
            raise
        except OSError as error:
            if "Range request not supported" in str(error):
                self._block = self._whole()
            elif "416 Range" not in str(error) and "416 Requested" not in str(error):
                raise
            self._size = len(self._block)  # of nothing, no range can be had
        self._head = self._block

    def _whole(self) -> bytes:
        """Return all of a file whose server knows no ranges, as simple web servers do not."""
        with _as_os_error():
            size = obstore.head(self._store, self._name)["size"]
        if size > MOST_WHOLE:
            raise OSError(f"its server knows no ranges of bytes, which is needed above {MOST_WHOLE >> 20} MB; copy it")
        return _again(lambda: bytes(obstore.get(self._store, self._name).bytes()))

    def _get(self, start: int, end: int) -> tuple[Any, bytes]:
        options: Any = {"range": (start, end)} | ({"if_match": self._tag} if self._tag else {})

        def ask() -> tuple[Any, bytes]:
            got = obstore.get(self._store, self._name, options=options)
            return got, bytes(got.bytes())

        return _again(ask)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative position {base + offset}")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        if self._at < len(self._head):
            data = memoryview(self._head)[self._at : self._at + wanted]
        else:
            if not self._start <= self._at < self._start + len(self._block):
                self._fetch(wanted)
            at = self._at - self._start
            data = memoryview(self._block)[at : at + wanted]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetch(self, wanted: int) -> None:
        if self._at == self._start + len(self._block):
            self._next = min(4 * self._next, max(self._next, MOST_AHEAD))
        end = min(self._at + max(wanted, self._next), self._size)
        try:
            self._block = self._get(self._at, end)[1]
        except Changed as error:
            raise StorageError(f"{self._shown} was replaced while it was read; let it be, and run again") from error
        except OSError as error:
            raise StorageError(f"cannot read {self._shown} ({error})") from error
        self._start = self._at
