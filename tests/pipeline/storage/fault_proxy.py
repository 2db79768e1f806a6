"""A proxy before an HTTP server that counts the requests and spoils those it is told to: the ways in which networks fail."""

from __future__ import annotations

import random
import re
import socket
import socketserver
import struct
import threading
import time
from collections import Counter, deque

FAULTS = ("503", "reset", "cut", "stall", "lost", "slow")


class FaultProxy(socketserver.ThreadingTCPServer):
    """Forwards to `port`; spoils one request for each word put into `faults`, and after `spoil` a share of all.

    ``503``: answers so. ``reset``: cuts the connection before the server sees the request. ``cut``: sends half of the
    answer. ``stall``: sends half of it and then nothing. ``lost``: the server does it, the answer never comes. ``slow``:
    half a second passes before it does. ``403``, ``301``: answers as S3 does without permission, or from another region.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = port
        self.faults: deque[str] = deque()
        self.requests: list[str] = []
        self.spoiled: Counter[str] = Counter()
        self.down = False
        self.ended = threading.Event()
        self._share, self._kinds, self._random, self._only = 0.0, FAULTS, random.Random(0), re.compile("")
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def spoil(self, share: float, kinds: tuple[str, ...] = FAULTS, only: str = "") -> None:
        """Spoil this share of all requests (whose first line matches `only`) from now on, each kind as often as any other."""
        self._share, self._kinds, self._only = share, kinds, re.compile(only)

    def fault_of(self, request: str) -> str:
        """Return what is done to the next request."""
        with self._lock:
            self.requests.append(request)
            fault = self.faults.popleft() if self.faults else ""
            if not fault and self._share and self._only.search(request) and self._random.random() < self._share:
                fault = self._random.choice(self._kinds)
            if fault:
                self.spoiled[fault] += 1
            return fault

    def close(self) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()


_ERRORS = {
    "503": (b"503 Slow Down", b"SlowDown"),
    "403": (b"403 Forbidden", b"AccessDenied"),
    "301": (b"301 Moved Permanently", b"PermanentRedirect"),
}


class _Handler(socketserver.BaseRequestHandler):
    server: FaultProxy

    def handle(self) -> None:
        """Forward one request; the connection ends with it."""
        data = b""
        while b"\r\n\r\n" not in data:
            part = self.request.recv(65536)
            if not part:
                return
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            part = self.request.recv(1 << 20)
            if not part:
                return
            body += part
        fault = "reset" if self.server.down else self.server.fault_of(head.split(b"\r\n")[0].decode())
        if fault in _ERRORS:
            status, code = _ERRORS[fault]
            said = b"<Error><Code>" + code + b"</Code></Error>"
            answer = b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(said)
            self.request.sendall(answer + said)
        elif fault == "reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            if fault == "slow":
                time.sleep(0.5)
            self._answer(head + b"\r\nConnection: close\r\n\r\n" + body, fault)

    def _answer(self, request: bytes, fault: str) -> None:
        with socket.create_connection(("127.0.0.1", self.server.target)) as upstream:
            upstream.sendall(request)
            answer = b""
            while part := upstream.recv(1 << 20):
                answer += part
        if fault == "lost":
            return
        if fault in ("cut", "stall"):
            answer = answer[: answer.index(b"\r\n\r\n") + 4 + (len(answer) - answer.index(b"\r\n\r\n")) // 2]
        try:
            self.request.sendall(answer)
        except OSError:
            return  # whoever asked has given up
        if fault == "stall":
            self.server.ended.wait(30)
