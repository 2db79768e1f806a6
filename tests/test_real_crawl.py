"""A run over real pages and odd files that nobody here wrote; skipped where they are not at hand."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("TOKENMILL_REAL_DATA", ROOT.parent / "shared/data"))
LAYOUT = DATA.parent / "tools/real_crawl.py"

pytestmark = pytest.mark.skipif(not (DATA.is_dir() and LAYOUT.exists()), reason="the real inputs are not at hand")

# the quick extractor: what is under test here is the engine, not the text
RECIPE = """
name = "real"
[input]
paths = [
  "warc/*.warc.gz",
  { path = "parquet/*.parquet", source = "parquet" },
  { path = "odd/**/*", source = "odd" },
  { path = "docs/[cd]*", source = "docs" },
  { path = "docs/test.*", source = "docs", columns = { text = "message" } },
]
source = "web"
[limits]
split_bytes = 3_000_000
batch_bytes = 1_000_000
[[stage]]
use = "extract"
engine = "resiliparse"
[[stage]]
use = "language"
[[stage]]
use = "gopher_repetition"
[[stage]]
use = "gopher_quality"
[[stage]]
use = "c4"
filter_no_terminal_punct = false
[[stage]]
use = "exact_dedup"
[[stage]]
use = "minhash_dedup"
[[stage]]
use = "mix"
fractions = { web = 0.9 }
[tokenizer]
vocab_sizes = [1024, 2048]
"""


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawl")
    subprocess.run([sys.executable, str(LAYOUT), str(folder)], check=True, capture_output=True)
    (folder / "recipe.toml").write_text(RECIPE)
    return folder


def run(crawl, name, workers):
    command = [sys.executable, "-m", "tokenmill", "run", str(crawl / "recipe.toml"), "--out", str(crawl / name)]
    done = subprocess.run([*command, "--workers", str(workers), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def digests(out):
    files = [*out.glob("data/*"), *out.glob("[0-9]*/ledger/*"), *out.glob("token_counts/*"), out / "token_budget.json"]
    return {str(f.relative_to(out)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(files)}


def test_real_pages_and_odd_files_balance_and_give_the_same_bytes_with_1_and_3_workers(crawl):
    one = run(crawl, "one", 1)
    three = run(crawl, "three", 3)
    assert one["balanced"]
    assert one["read"] == three["read"] >= 2 * 1031 + 300
    assert digests(crawl / "one") == digests(crawl / "three")
    assert all(step["folder"] for step in one["passes"])
