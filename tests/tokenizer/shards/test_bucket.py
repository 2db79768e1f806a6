"""Token shards in a bucket of a real S3 server: of a run there, into a folder or a bucket, and batches of them."""

import json

from pipeline.run import local_folder
from pipeline.storage import Folder
from tests.tokenizer.oracles import english
from tokenmill.api import run as run_recipe
from tokenmill.cli import main

RECIPE = """name = "small"
[input]
paths = ["IN/*.jsonl"]
[tokenizer]
vocab_sizes = [280, 320]
[tokens]
format = ["olmo", "llmc"]
part_tokens = 4000
shuffle = 3
"""
PAYLOADS = (".bin", ".idx", ".documents.parquet", ".npy", "tokenizer.json")


def payloads(folder):
    return {name: folder.get(name) for name in folder.names() if name.endswith(PAYLOADS)}


def test_shards_of_a_run_in_a_bucket_are_those_of_a_run_in_a_folder(tmp_path, s3, capsys):
    lines = [json.dumps({"id": f"d{n}", "text": english(n, 60)}) for n in range(60)]
    Folder(f"{s3}/in").put("a.jsonl", "\n".join(lines).encode())
    (tmp_path / "recipe.toml").write_text(RECIPE.replace("IN", f"{s3}/in"))
    run_recipe(tmp_path / "recipe.toml", out=tmp_path / "run", workers=1)
    run_recipe(tmp_path / "recipe.toml", out=f"{s3}/run", workers=1)
    here, there = local_folder(tmp_path / "run/tokens"), Folder(f"{s3}/run/tokens")
    assert payloads(there) == payloads(here)
    assert len(payloads(there)) > 8
    assert not [name for name in there.names() if name.startswith(".")]
    command = ["tokens", f"{s3}/run", "--tokenizer", "320", "--shuffle", "3", "--part-tokens", "4000", "--workers", "2"]
    for place in (f"{s3}/again", str(tmp_path / "again")):
        assert main([*command, "--format", "olmo,llmc", "--out", place]) == 0
        assert payloads(local_folder(place)) == payloads(here)
    capsys.readouterr()
    batch = ["--step", "1:3", "--global-batch", "4", "--seq", "64", "--json"]
    assert main(["batch", str(tmp_path / "again"), *batch]) == 0
    found = capsys.readouterr().out
    assert main(["batch", f"{s3}/again", *batch]) == 0
    assert capsys.readouterr().out == found
    assert len(json.loads(found)) == 8


def test_what_is_missing_in_a_bucket_is_one_clear_line(s3, tmp_path, capsys):
    Folder(f"{s3}/ladder").put_json("ladder.json", {"vocab_sizes": [280, 320]})
    for arguments, said in (
        ([f"{s3}/none", "--tokenizer", f"{s3}/ladder/280"], "its sizes are 280, 320"),
        ([f"{s3}/none", "--tokenizer", f"{s3}/none/tokenizer.json"], "cannot read"),
    ):
        assert main(["tokens", *arguments, "--out", str(tmp_path / "out")]) == 2
        error = capsys.readouterr().err
        assert len(error.splitlines()) == 1
        assert said in error
    assert main(["batch", f"{s3}/none", "--step", "1", "--global-batch", "4", "--seq", "64"]) == 2
    assert "holds no finished token shards" in capsys.readouterr().err
