"""Inputs elsewhere: what a pattern in a bucket and a list of paths mean, and how faults of a store are said."""

import gzip
import http.server
import os
import pathlib
import threading
import time

import pytest
import zstandard

from pipeline.errors import InputError
from pipeline.storage import Folder, expand, local_copy, objects, open_input, reach, settings
from pipeline.storage.remote import is_list
from tests.pipeline.storage.fault_proxy import FaultProxy


@pytest.fixture
def bucket(s3):
    folder = Folder(s3)
    for name in ("a.warc.gz", "b/c.warc.gz", "b/d/e.warc.gz", "x1.txt", "x2.txt"):
        folder.put(name, name.encode())
    return s3


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.warc.gz", ["a.warc.gz"]),
        ("*/*.warc.gz", ["b/c.warc.gz"]),
        ("**/*.warc.gz", ["a.warc.gz", "b/c.warc.gz", "b/d/e.warc.gz"]),
        ("b/**", ["b/c.warc.gz", "b/d/e.warc.gz"]),
        ("x[!1].txt", ["x2.txt"]),
        ("x?.txt", ["x1.txt", "x2.txt"]),
        ("b/c.warc.gz", ["b/c.warc.gz"]),
    ],
)
def test_a_pattern_in_a_bucket_means_the_objects_that_match_it_in_their_order(bucket, pattern, names):
    assert expand([f"{bucket}/{pattern}"]) == [f"{bucket}/{name}" for name in names]


def test_a_pattern_that_matches_nothing_is_said(bucket):
    with pytest.raises(InputError, match=r"nothing matches s3://tests/.*/\*\.zip; mend the path"):
        expand([f"{bucket}/*.zip"])


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("warc.paths.gz", True), ("paths.gz", True), ("paths.txt", True), ("my-paths.zst", True), ("warc.paths", True),
     ("footpaths.gz", False), ("paths.parquet", False), ("a.warc.gz", False)],
)  # fmt: skip
def test_a_list_of_paths_is_told_by_its_name(name, is_one):
    assert is_list(f"s3://b/{name}") is is_one


def test_lines_of_a_list_are_found_above_the_folder_they_begin_with_as_those_of_common_crawl_are(s3):
    lines = (
        b"crawl-data/CC/1.warc.gz\n\n# a comment\ncrawl-data/CC/2.warc.gz\nhttps://example.org/3.warc.gz\n/4.warc.gz\n"
    )
    Folder(s3).put("mirror/crawl-data/CC/warc.paths.gz", gzip.compress(lines))
    found = expand([f"{s3}/mirror/crawl-data/CC/*.paths.gz"])
    own = [f"{s3}/mirror/crawl-data/CC/{n}.warc.gz" for n in (1, 2)]
    assert found == [*own, "https://example.org/3.warc.gz", "/4.warc.gz"]


def test_other_lines_are_relative_to_the_list_or_to_the_base_that_the_recipe_names(tmp_path):
    (tmp_path / "paths.zst").write_bytes(zstandard.compress(b"a.jsonl\nb/c.jsonl"))
    assert expand([str(tmp_path / "paths.zst")]) == [f"{tmp_path}/a.jsonl", f"{tmp_path}/b/c.jsonl"]
    assert expand([str(tmp_path / "paths.zst")], "s3://b/x/") == ["s3://b/x/a.jsonl", "s3://b/x/b/c.jsonl"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"", "holds none"), (b"\x1f\x8bnot gzip", "is none"), (b"\xff\xfe\x00", "is none"), (b"a\0b", "is no path")],
    ids=["empty", "no gzip", "no text", "no path"],
)
def test_a_list_that_is_none_is_said(tmp_path, data, problem):
    (tmp_path / "x.paths").write_bytes(data)
    with pytest.raises(InputError, match=f"x.paths.*{problem}"):
        expand([str(tmp_path / "x.paths")])


def test_schemes_that_nothing_is_read_by_and_patterns_on_web_servers_are_refused():
    with pytest.raises(InputError, match="nothing is read by ftp://"):
        expand(["ftp://example.org/y.parquet"])
    with pytest.raises(InputError, match="a web server does not list"):
        expand(["https://example.org/*.parquet"])
    with pytest.raises(InputError, match="name the bucket"):
        expand(["s3://b*/x"])
    assert expand(["https://example.org/x.parquet?part=1"]) == ["https://example.org/x.parquet?part=1"]


@pytest.fixture
def web(tmp_path):
    """Serve a folder by the web server of the standard library, which knows no ranges."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_list_comes_from_a_web_server(web, tmp_path):
    (tmp_path / "crawl-data/CC").mkdir(parents=True)
    (tmp_path / "crawl-data/CC/wet.paths.gz").write_bytes(gzip.compress(b"crawl-data/CC/1.wet.gz\n"))
    assert expand([f"{web}/crawl-data/CC/wet.paths.gz"]) == [f"{web}/crawl-data/CC/1.wet.gz"]
    with pytest.raises(InputError, match=r"cannot read .*none\.paths\.gz"):
        expand([f"{web}/none.paths.gz"])


FAULTS = {
    "no keys": (
        {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None},
        "tests",
        "no credentials were found: set AWS",
    ),
    "wrong secret": ({"AWS_SECRET_ACCESS_KEY": "no"}, "tests", "the secret key is wrong"),
    "unknown key": ({"AWS_ACCESS_KEY_ID": "nobody"}, "tests", "does not know this access key"),
    "wrong bucket": ({}, "no-such-bucket", "there is no such bucket"),
    "unreachable": ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "tests", "no connection to http://127.0.0.1:9"),
    "plain http": ({"AWS_ENDPOINT_URL": "http://store.invalid", "AWS_ALLOW_HTTP": None}, "tests", "storage.allow_http"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_wrong_with_a_bucket_is_said_within_seconds(s3, monkeypatch, case):
    environment, bucket, said = FAULTS[case]
    for name, value in environment.items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    started = time.monotonic()
    with pytest.raises(InputError, match=f"cannot read s3://{bucket}/in .*{said}") as found:
        reach(f"s3://{bucket}/in")
    assert time.monotonic() - started < 15
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(("fault", "said"), [("403", "have no permission for it"), ("301", "lies in another region")])
def test_a_refusal_and_a_bucket_of_another_region_are_said(s3, s3_port, monkeypatch, fault, said):
    proxy = FaultProxy(s3_port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
    proxy.faults.append(fault)
    with pytest.raises(InputError, match=said):
        reach(s3)
    assert len(proxy.requests) == 1  # what no repetition helps is not repeated
    proxy.close()


def test_the_region_that_a_server_names_is_passed_on():
    error = OSError("<Code>AuthorizationHeaderMalformed</Code><Message>is wrong; expecting 'eu-west-1'</Message>")
    assert objects.said_by(error).endswith("set AWS_REGION, or storage.region (the server names eu-west-1)")


def test_keys_come_from_the_files_of_the_aws_command_line(s3, monkeypatch, tmp_path):
    (tmp_path / "credentials").write_text("[lab]\naws_access_key_id = test\naws_secret_access_key = testtest\n")
    (tmp_path / "config").write_text("[profile lab]\nregion = eu-central-1\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with pytest.raises(InputError, match="no credentials"):
        reach(s3)
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert settings.options_of(s3)[0]["region"] == "eu-central-1"
    Folder(s3).put("f", b"1")


def test_storage_of_a_recipe_holds_for_all_or_for_what_lies_below_a_url(monkeypatch):
    monkeypatch.delenv(settings.VARIABLE, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://from.the.environment")
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    settings.configure({"region": "eu-west-1", "s3://open": {"anonymous": True, "endpoint": "http://127.0.0.1:5"}})
    try:
        store, client = settings.options_of("s3://open/x")
        assert (store["skip_signature"], store["endpoint"], client) == (
            True,
            "http://127.0.0.1:5",
            {"allow_http": True},
        )
        store, client = settings.options_of("s3://opened/x")
        assert store == {"region": "eu-west-1", "endpoint": "https://from.the.environment"}
        assert client == {}
    finally:
        settings.configure({})
    assert settings.VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("table", "key", "problem"),
    [
        ({"secret_access_key": "x"}, "secret_access_key", "no place for secrets"),
        ({"s3://b": {"aws_access_key_id": "x"}}, '"s3://b".aws_access_key_id', "no place for secrets"),
        ({"endpoit": "x"}, "endpoit", "unknown"),
        ({"anonymous": "yes"}, "anonymous", "must be a bool"),
        ({"s3://b": 1}, '"s3://b"', "must be a table"),
    ],
)
def test_faults_in_storage_are_named_with_their_key(table, key, problem):
    found = settings.fault_of(table)
    assert found[0] == key
    assert problem in found[1]


def test_a_model_in_a_bucket_is_a_file_for_those_who_open_files_themselves(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "cache"))
    copy = local_copy(f"{bucket}/a.warc.gz")
    assert (copy.name, copy.read_bytes()) == ("a.warc.gz", b"a.warc.gz")
    assert local_copy(f"{bucket}/a.warc.gz") == copy
    Folder(bucket).put("a.warc.gz", b"another model")
    assert local_copy(f"{bucket}/a.warc.gz").read_bytes() == b"another model"
    assert local_copy("/some/where") == pathlib.Path("/some/where")


def test_the_head_of_a_large_file_costs_one_small_request_and_all_of_it_a_few(s3, s3_port, monkeypatch):
    body = os.urandom(1 << 16) * 300  # 19.7 MB
    Folder(s3).put("f", body)
    proxy = FaultProxy(s3_port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
    with open_input(f"{s3}/f") as file:
        assert file.read(5) == body[:5]
        assert len(proxy.requests) == 1
        assert file.read() == body[5:]
        assert len(proxy.requests) <= 5
        file.seek(-7, 2)
        assert file.read() == body[-7:]
    proxy.close()


def test_an_empty_object_is_an_empty_file(s3):
    Folder(s3).put("f", b"")
    with open_input(f"{s3}/f") as file:
        assert file.read() == b""
