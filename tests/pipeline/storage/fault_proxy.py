"""A proxy before an HTTP server that spoils the requests it is told to: the ways in which networks fail."""

from __future__ import annotations

import re
import socket
import socketserver
import struct
import threading
from collections import deque


class FaultProxy(socketserver.ThreadingTCPServer):
    """Forwards to `port`; spoils one request for each word put into `faults`.

    ``503``: answers so. ``reset``: cuts the connection before the server sees the request. ``cut``: sends half of the
    answer. ``stall``: sends half of it and then nothing. ``lost``: the server does it, the answer never comes.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = port
        self.faults: deque[str] = deque()
        self.requests: list[str] = []
        self.ended = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def close(self) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()


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
            body += self.request.recv(1 << 20)
        self.server.requests.append(head.split(b"\r\n")[0].decode())
        fault = self.server.faults.popleft() if self.server.faults else ""
        if fault == "503":
            self.request.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        elif fault == "reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
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
        self.request.sendall(answer)
        if fault == "stall":
            self.server.ended.wait(30)
