"""Datasets on the Hugging Face Hub, against a server that lists, redirects and refuses as the Hub does."""

from __future__ import annotations

import http.server
import io
import json
import threading
import time
import urllib.parse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.storage import expand, head_input, open_input

FILES = {"data/train-0 a.parquet": 3, "data/train-1.parquet": 5, "data/deep/er.parquet": 7, "data/readme.md": 0}


def content(rows: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": [f"row {n} of a dataset" for n in range(rows)]}), sink)
    return sink.getvalue()


class Hub(http.server.ThreadingHTTPServer):
    """Holds dataset ``lab/texts`` at ``main`` and at ``refs/convert/parquet``; of ``lab/private`` only for who has a token."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[str, str | None]] = []
        self.busy = 0
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Answers(http.server.BaseHTTPRequestHandler):
    def log_message(self, *said):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub: Hub = self.server  # type: ignore[assignment]
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        hub.asked.append((self.path, self.headers.get("Authorization")))
        if "lab/private" in path and self.headers.get("Authorization") != "Bearer hf_secret":
            return self.say(401, b"Repository Not Found")
        if hub.busy:
            hub.busy -= 1
            return self.say(429, b"")
        for revision in ("main", "refs/convert/parquet"):
            for name in ("texts", "private"):
                tree = f"/api/datasets/lab/{name}/tree/{revision}/data"
                resolve = f"/datasets/lab/{name}/resolve/{revision}/"
                if path == tree and "recursive=true" in query:
                    return self.tree(tree, query)
                if path.startswith(resolve) and path.removeprefix(resolve) in FILES:
                    return self.redirect(path.removeprefix(resolve))
        if path.startswith("/cdn/"):
            return self.file(content(FILES[path.removeprefix("/cdn/")]))
        return self.say(404, b"not found")

    def tree(self, tree: str, query: str) -> None:
        """Answer two entries a page, and where the next ones are."""
        entries = [{"type": "directory", "path": "data/deep"}, *({"type": "file", "path": name} for name in FILES)]
        at = int(dict(urllib.parse.parse_qsl(query)).get("cursor", 0))
        more = {}
        if at + 2 < len(entries):
            here = f"http://127.0.0.1:{self.server.server_address[1]}{urllib.parse.quote(tree)}"
            more = {"Link": f'<{here}?recursive=true&cursor={at + 2}>; rel="next"'}
        self.say(200, json.dumps(entries[at : at + 2]).encode(), **more)

    def redirect(self, name: str) -> None:
        place = f"http://localhost:{self.server.server_address[1]}/cdn/{urllib.parse.quote(name)}"
        self.say(302, b"", Location=place)

    def file(self, data: bytes) -> None:
        wanted = self.headers.get("Range")
        about = {"ETag": f'"{len(data)}"', "Last-Modified": "Mon, 30 Nov 2026 00:00:00 GMT", "Accept-Ranges": "bytes"}
        if wanted is None:
            return self.say(200, data, **about)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        end = min(int(last) + 1 if last else len(data), len(data))
        about["Content-Range"] = f"bytes {first}-{end - 1}/{len(data)}"
        return self.say(206, data[int(first) : end], **about)

    def say(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    server = Hub()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}/")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield server
    server.shutdown()


def rows_of(paths: list[str]) -> list[int]:
    return [pq.ParquetFile(open_input(path)).metadata.num_rows for path in paths]


def test_a_pattern_in_a_dataset_means_the_files_of_all_pages_that_match_it(hub):
    assert rows_of(expand(["hf://datasets/lab/texts/data/*.parquet"])) == [3, 5]
    assert rows_of(expand(["hf://datasets/lab/texts/data/**/*.parquet"])) == [7, 3, 5]


def test_a_file_is_read_as_it_is_named_and_known_by_its_mark(hub):
    (path,) = expand(["hf://datasets/lab/texts/data/train-1.parquet"])
    assert rows_of([path]) == [5]
    assert head_input(path).tag == f'"{len(content(5))}"'


def test_a_revision_is_the_one_that_is_named(hub):
    paths = expand(["hf://datasets/lab/texts@refs/convert/parquet/data/train-1.parquet"])
    assert "/resolve/refs%2Fconvert%2Fparquet/" in paths[0]
    assert rows_of(paths) == [5]
    with pytest.raises(InputError, match="no such dataset, revision 'v2' or folder"):
        expand(["hf://datasets/lab/texts@v2/data/*.parquet"])


def test_a_token_opens_what_is_private_and_goes_to_the_hub_alone(hub, monkeypatch):
    with pytest.raises(InputError, match="set HF_TOKEN"):
        expand(["hf://datasets/lab/private/data/*.parquet"])
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert rows_of(expand(["hf://datasets/lab/private/data/*.parquet"])) == [3, 5]
    elsewhere = [token for path, token in hub.asked if path.startswith("/cdn/")]
    assert elsewhere
    assert set(elsewhere) == {None}


def test_a_token_is_found_where_logging_in_leaves_it(hub, tmp_path):
    (tmp_path / "token").write_text("hf_secret\n")
    assert len(expand(["hf://datasets/lab/private/data/*.parquet"])) == 2


def test_a_busy_hub_is_asked_again(hub):
    hub.busy = 2
    assert len(expand(["hf://datasets/lab/texts/data/*.parquet"])) == 2


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("hf://datasets/lab/texts", "name files of a dataset"),
        ("hf://models/lab/texts/a.parquet", "name files of a dataset"),
        ("hf://datasets/lab/texts/data/*.csv", "nothing matches"),
        ("hf://datasets/lab/none/data/*.parquet", "there is no such dataset"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(hub, url, said):
    with pytest.raises(InputError, match=said) as caught:
        expand([url])
    assert "\n" not in str(caught.value)


def test_a_hub_that_nobody_answers_for_is_said_soon(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    started = time.monotonic()
    with pytest.raises(InputError, match=r"no answer of http://127\.0\.0\.1:9"):
        expand(["hf://datasets/lab/texts/data/*.parquet"])
    assert time.monotonic() - started < 10
