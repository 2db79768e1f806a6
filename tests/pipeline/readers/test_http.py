import gzip
import zlib

import pytest
import zstandard

from pipeline.readers.http import BadCoding, Response, TooLarge, dechunk, decode_body, parse_response, undo
from tests.pipeline.readers.made import page

BODY = page(1)
LIMIT = 1_000_000


def chunked(body: bytes, size: int = 50) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def decoded(body: bytes, **headers: str) -> bytes:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return decode_body(Response(200, names, body), LIMIT)[0]


def test_the_header_is_taken_off():
    response = parse_response(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: a\r\n b\r\n\r\nbody")
    assert (response.status, response.headers, response.body) == (
        200,
        {"content-type": "text/html", "x": "a b"},
        b"body",
    )


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200\r\n\r\n", b"HTTP/1.0 200 OK\nA: b\n\n", b"HTTP/2 200 \r\nA: b\r\n\r\n"]
)
def test_odd_status_lines_and_line_endings_are_read(head):
    response = parse_response(head + b"body")
    assert (response.status, response.body) == (200, b"body")


def test_without_a_status_line_all_is_body():
    assert parse_response(b"<html>") == Response(None, {}, b"<html>")


def test_the_first_of_two_equal_headers_counts():
    assert parse_response(b"HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\n\r\n").headers == {"a": "1"}


FINAL = b"http/1.1 200\nContent-Type: text/html;\r\n charset=utf-8\r\n\r\nbody"


@pytest.mark.parametrize(
    "before",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" * 3,
        b"HTTP/1.0 200 Connection established\r\nProxy-Agent: gate\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.0 200 Tunnel established\n\nHTTP/1.1 100\r\n\r\n\r\n",
    ],
)
def test_the_answer_behind_interim_and_proxy_answers_is_the_one_that_counts(before):
    response = parse_response(before + FINAL)
    assert response == Response(200, {"content-type": "text/html; charset=utf-8"}, b"body")


@pytest.mark.parametrize(
    "payload",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nno answer",
        b"HTTP/1.1 103 Early Hints\r\nLink: a",
    ],
)
def test_an_interim_answer_alone_is_what_it_is(payload):
    assert parse_response(payload).status in (100, 103)


def test_a_page_about_http_is_a_body_not_a_second_answer():
    body = b"HTTP/1.1 404 Not Found\r\n\r\nis what a server says"
    response = parse_response(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body)
    assert (response.status, response.body) == (200, body)


def test_interim_answers_without_end_are_given_up():
    assert parse_response(b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000).status == 100


@pytest.mark.parametrize("line", ["http/1.1 404 Not Found", "Http/1.0 404", "HTTP/1.1 404 ", "\r\nHTTP/1.1 404 x"])
def test_a_status_line_counts_however_it_is_written(line):
    assert parse_response(f"{line}\r\n\r\n".encode()).status == 404


@pytest.mark.parametrize("coding", ["gzip, chunked", "GZIP,chunked;q=1", "x-gzip , chunked"])
def test_transfer_codings_are_undone_last_first(coding):
    assert decoded(chunked(gzip.compress(BODY)), transfer_encoding=coding) == BODY


def test_codings_in_repeated_headers_are_one_list():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nX: y\r\ntransfer-encoding:\r\n chunked\r\n\r\n"
    response = parse_response(head + chunked(gzip.compress(BODY)))
    assert decode_body(response, LIMIT) == (BODY, False)


def test_a_transfer_coding_that_a_crawler_has_undone_is_no_matter():
    assert decoded(BODY, transfer_encoding="gzip, chunked") == BODY


def test_encodings_without_end_are_refused():
    with pytest.raises(BadCoding, match="1000 encodings"):
        decoded(BODY, content_encoding=",".join(["gzip"] * 1000))


def test_gzip_members_without_end_are_refused():
    with pytest.raises(BadCoding, match="members"):
        decoded(gzip.compress(b"") * 150_000, content_encoding="gzip")


def test_chunks_are_joined():
    assert dechunk(chunked(BODY)) == BODY


def test_chunk_extensions_and_lf_only_chunks_are_read():
    assert dechunk(b"3;name=value\nabc\n2\nde\n0\n\n") == b"abcde"


def test_a_body_that_is_not_chunked_as_its_header_says_is_kept():
    assert decoded(BODY, transfer_encoding="chunked") == BODY


def test_a_body_cut_inside_a_chunk_keeps_what_is_there():
    assert dechunk(b"5\r\nabcde\r\nff\r\nrest") == b"abcderest"


def test_chunks_that_break_off_keep_the_bytes_behind():
    assert dechunk(b"5\r\nabcde\r\nno chunk") == b"abcdeno chunk"


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("deflate", gzip.compress),
        ("zstd", zstandard.compress),
        ("identity", bytes),
        ("", bytes),
        ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
    ],
)
def test_content_encodings_are_undone(coding, pack):
    assert decoded(pack(BODY), content_encoding=coding) == BODY


def test_brotli_is_undone():
    import io

    from fastwarc.stream_io import BrotliWriter

    sink = io.BytesIO()
    writer = BrotliWriter(sink)
    writer.write(BODY)
    writer.close()
    assert decoded(sink.getvalue(), content_encoding="br") == BODY


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "utf-8"])
@pytest.mark.parametrize("body", [BODY, b"plain text, no markup"])
def test_a_body_that_is_not_encoded_as_its_header_says_is_kept(coding, body):
    assert decoded(body, content_encoding=coding) == body


def test_chunked_and_gzipped_at_once():
    assert decoded(chunked(gzip.compress(BODY)), transfer_encoding="chunked", content_encoding="gzip") == BODY


def test_a_gzipped_page_under_no_header_is_inflated():
    assert decoded(gzip.compress(BODY), content_type="text/html") == BODY


def test_a_gzip_body_cut_short_gives_what_is_there_and_says_so():
    body, short = decode_body(Response(200, {"content-encoding": "gzip"}, gzip.compress(BODY)[:-30]), LIMIT)
    assert short
    assert BODY.startswith(body)
    assert len(body) > 20


def test_a_body_of_several_gzip_members_is_joined():
    assert decoded(gzip.compress(BODY) + gzip.compress(BODY), content_encoding="gzip") == BODY * 2


@pytest.mark.parametrize("coding", ["gzip", "zstd", "deflate"])
def test_a_body_that_expands_beyond_the_limit_is_refused(coding):
    pack = {"gzip": gzip.compress, "zstd": zstandard.compress, "deflate": zlib.compress}[coding]
    with pytest.raises(TooLarge):
        undo(coding, pack(b"x" * 5000), 1000)


def test_bytes_that_cannot_be_undone_are_refused():
    with pytest.raises(BadCoding, match="sdch"):
        undo("sdch", b"\x00\x01\x02\x03", LIMIT)
    with pytest.raises(BadCoding):
        undo("gzip", b"\x1f\x8b\x08\x00broken", LIMIT)
    with pytest.raises(BadCoding):
        undo("deflate", b"\x00\x01\x02\x03\x04", LIMIT)
