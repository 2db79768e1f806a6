"""What Parquet and Arrow files say of themselves, read in a child process: there are damaged ones on which the library ends
the process it is in.

The child lives as long as it is asked something every few seconds. Workers read such files themselves: they are children.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from pipeline.errors import InputError
from pipeline.imports import is_own_process
from pipeline.readers.contract import InputFile
from pipeline.storage import has_opened, open_input

IDLE_SECONDS = 5.0
"""How long the child waits to be asked."""
SECONDS = 120.0
"""How long one footer may take, with its way from an object store."""
_SIZE = struct.Struct(">Q")
_SWITCHES = ("-I", "-X", "utf8")


@dataclass(frozen=True)
class Footer:
    """What a file says of itself.

    Attributes:
        schema: its columns as Arrow types.
        groups: compressed bytes of each row group; none for Arrow.
    """

    schema: pa.Schema
    groups: tuple[int, ...]


def open_parquet(file: InputFile, source: Any) -> pq.ParquetFile:
    """Return `source` opened as Parquet. Raises InputError where it is none."""
    try:
        return pq.ParquetFile(source, buffer_size=1 << 20, page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise unreadable(file, " ".join(str(error).split())[:200]) from error


def open_arrow(file: InputFile, kind: str, source: BinaryIO) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
    """Return `source` opened as kind ``arrow`` (file) or ``arrows`` (stream). Raises InputError where it is none."""
    try:
        reader = ipc.open_file(source) if kind == "arrow" else ipc.open_stream(source)
        _read_names(reader.schema)
        return reader
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise unreadable(file, " ".join(str(error).split())[:200], kind) from error


def _read_names(fields: Iterable[pa.Field]) -> None:
    """Raise UnicodeDecodeError where a name, however deep, is no UTF-8."""
    for field in fields:
        _ = field.name
        kind = field.type
        if pa.types.is_nested(kind):
            _read_names(kind.field(number) for number in range(kind.num_fields))


def unreadable(file: InputFile, why: str, kind: str = "parquet") -> InputError:
    """Return the error that says that `file` cannot be read, and what to do."""
    what = "Parquet" if kind == "parquet" else "Arrow"
    return InputError(f"{file.name} is no readable {what} file ({why}); replace it or take it out of input.paths")


def footer_of(file: InputFile, kind: str = "parquet") -> Footer:
    """Return what `file`, of kind ``parquet``, ``arrow`` or ``arrows``, says of itself. Raises InputError where it cannot
    be read."""
    with _lock:
        answer = _child.ask(file, kind)
    if isinstance(answer, Exception):
        raise answer
    return answer


def read_footer(file: InputFile, kind: str = "parquet") -> Footer | InputError:
    """Return what `footer_of` returns or raises, read in this process."""
    try:
        with open_input(file.path) as source:
            if kind != "parquet":
                return Footer(open_arrow(file, kind, source).schema, ())
            parquet = open_parquet(file, source)
            schema, about = parquet.schema_arrow, parquet.metadata
            groups = []
            for number in range(about.num_row_groups):
                group = about.row_group(number)
                columns = [group.column(index) for index in range(group.num_columns)]
                groups.append(sum(column.total_compressed_size + 0 * len(column.encodings) for column in columns))
            return Footer(schema, tuple(groups))
    except InputError as error:
        return error
    except Exception as error:  # whatever the library makes of a damaged footer
        return unreadable(file, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", kind)


def _may_fork() -> bool:
    """Whether a fork of this process can go on: it has no threads, not even those that speak to object stores."""
    return is_own_process() and threading.active_count() == 1 and not has_opened()


class _Fork:
    """A fork of this process that serves: what `_Child` needs of `subprocess.Popen`, without its quarter of a second."""

    def __init__(self) -> None:
        asked, asks = os.pipe()
        answers, answered = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._serve(asked, answered)
        os.close(asked)
        os.close(answered)
        self.stdin, self.stdout = os.fdopen(asks, "wb", buffering=0), os.fdopen(answers, "rb", buffering=0)
        self._code: int | None = None

    @staticmethod
    def _serve(asked: int, answered: int) -> None:
        """Answer with nothing of the parent's but these two ends, and end without what it does at its end."""
        with contextlib.suppress(BaseException):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.dup2(asked, 0)
            os.dup2(answered, 1)
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            serve()
        os._exit(0)

    def poll(self) -> int | None:
        """Return how it ended; None where it has not."""
        return self._ended(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return how it ended. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        until = time.monotonic() + (timeout or 0.0)
        while timeout is not None and self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("footers", timeout)
            time.sleep(0.002)
        code = self._ended(0)
        assert code is not None
        return code

    def kill(self) -> None:
        """End it."""
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)

    def _ended(self, how: int) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self._pid, how)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


class _Child:
    """The process that reads footers, started when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | _Fork | None = None
        self._last: tuple[Any, Footer] | None = None

    def ask(self, file: InputFile, kind: str) -> Footer | InputError:
        """Return what the child answers for `file`, or what its death says of it."""
        key = _state(file)
        if key is not None and self._last is not None and self._last[0] == key:
            return self._last[1]
        for _ in range(2):
            answer = self._asked(file, kind)
            if answer is not None:
                break
        else:
            answer = unreadable(file, "the process that reads footers cannot be started", kind)
        if isinstance(answer, Footer) and key is not None:
            self._last = key, answer
        return answer

    def _asked(self, file: InputFile, kind: str) -> Footer | InputError | None:
        """Return the answer for `file`; None where the child was gone before it took the question."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            _send(process.stdin, (file, kind))
        if not select.select([process.stdout], [], [], SECONDS)[0]:
            self.end()
            return unreadable(file, f"its footer takes more than {SECONDS:g} s to read", kind)
        answer = _receive(process.stdout)
        if answer is not None:
            return answer  # type: ignore[no-any-return]
        code = self.end()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return None if code == 0 else unreadable(file, f"its footer ends the process that reads it: {how}", kind)

    def _running(self) -> subprocess.Popen[bytes] | _Fork:
        if self._process is None or self._process.poll() is not None:
            self.end()
            if _may_fork():
                self._process = _Fork()
                return self._process
            command = [sys.executable, *_SWITCHES, "-c", "from pipeline.readers.footers import serve; serve()"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
        return self._process

    def end(self) -> int:
        """End the child, and return how it ended."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            return process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _state(file: InputFile) -> tuple[str, int, int] | None:
    """Return what tells whether a file on this machine is the one that was read."""
    try:
        about = os.stat(file.path)
    except OSError:
        return None
    return file.path, about.st_size, about.st_mtime_ns


def _send(pipe: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    view = memoryview(_SIZE.pack(len(data)) + data)
    while view:
        view = view[pipe.write(view) :]


def _receive(pipe: IO[bytes]) -> Any:
    """Return what was sent, None at the end."""
    head = _exactly(pipe, _SIZE.size)
    data = _exactly(pipe, _SIZE.unpack(head)[0]) if head is not None else None
    return None if data is None else pickle.loads(data)


def _exactly(pipe: IO[bytes], count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        piece = pipe.read(count - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def serve() -> None:
    """Answer for one file after the other, until nobody asks any more."""
    requests, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(null, stream)
    while select.select([requests], [], [], IDLE_SECONDS)[0]:
        question = _receive(requests)
        if question is None:
            return
        _send(answers, read_footer(*question))


_child = _Child()
_lock = threading.Lock()
atexit.register(_child.end)
