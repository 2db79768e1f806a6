"""Messages over a Unix socket: eight bytes of length, then the message. Standard library only."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Sequence

_LENGTH = struct.Struct("!Q")
MOST_FILES = 4


def pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets, neither on a standard stream's number where those are closed."""
    ours, theirs = socket.socketpair()
    return _above_standard(ours), _above_standard(theirs)


def _above_standard(sock: socket.socket) -> socket.socket:
    if sock.fileno() > 2:
        return sock
    with sock:
        return socket.socket(fileno=fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


def send(sock: socket.socket, data: bytes, files: Sequence[int] = ()) -> None:
    """Send one message, and `files` (descriptors) with it; waits until the socket has taken it."""
    message = memoryview(_LENGTH.pack(len(data)) + data)
    if files:
        message = message[socket.send_fds(sock, [message], files) :]
    sock.sendall(message)


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next message and the descriptors that came with it; waits. Raises EOFError where there is no more."""
    head, files, _, _ = socket.recv_fds(sock, _LENGTH.size, MOST_FILES)
    if not head:
        raise EOFError
    (length,) = _LENGTH.unpack(head + _exactly(sock, _LENGTH.size - len(head)))
    return _exactly(sock, length), list(files)


def _exactly(sock: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = sock.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


class Channel:
    """The supervisor's end of a socket: never waits, whatever the other end does, stopped in mid-message or dead."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setblocking(False)
        self.closed = False
        self._out = b""
        self._in = bytearray()

    def fileno(self) -> int:
        """Return the descriptor, for selectors."""
        return self.sock.fileno()

    def push(self, data: bytes) -> None:
        """Queue a message and send of it what the socket takes; a dead other end shows in `pull`."""
        self._out += _LENGTH.pack(len(data)) + data
        self.flush()

    def flush(self) -> bool:
        """Send what is queued, as far as the socket takes it; return whether there is more."""
        try:
            while self._out:
                self._out = self._out[self.sock.send(self._out) :]
        except BlockingIOError:
            return True
        except OSError:
            self._out = b""
        return False

    def send_with(self, data: bytes, files: Sequence[int]) -> None:
        """Send one message and descriptors with it; waits until the socket has taken it."""
        self.sock.setblocking(True)
        try:
            send(self.sock, data, files)
        except OSError:
            pass  # as in `flush`
        finally:
            self.sock.setblocking(False)

    def pull(self) -> list[bytes]:
        """Return the messages that are here; sets `closed` where no more will come."""
        try:
            while part := self.sock.recv(1 << 20):
                self._in += part
            self.closed = True
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        messages = []
        while len(self._in) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._in)
            end = _LENGTH.size + length
            if len(self._in) < end:
                break
            messages.append(bytes(self._in[_LENGTH.size : end]))
            del self._in[:end]
        return messages

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()
