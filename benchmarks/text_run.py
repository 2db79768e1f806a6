"""Text in, four rule sets and near dedup, whole processes, beside datatrove's on the same texts.

    python benchmarks/text_run.py --peer PYTHON --peer-script peer_datatrove.py [--mb 16] [--runs 3] [--workers 2] [--words unicode]

The texts are pages of the installation guide in nine languages and web pages in some ten (../shared/data), `--mb` MB of them in
eight Parquet files. The peer's script (--text, --what text) applies the four filters to all texts and, apart from that, the four
MinHash stages to all texts. Ours are two recipes: `filtered`, rules and then near dedup of what they leave, as recipes have
it; and `all`, near dedup of all texts and then the rules. Both sides in turn; medians of wall time.
"""

import argparse
import hashlib
import itertools
import json
import pathlib
import statistics
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from real_texts import guide_pages, web_pages
from run import watched

FILES = 8
DEDUP = '[[stage]]\nuse = "minhash_dedup"\n'


def write_texts(folder: pathlib.Path, size: int) -> int:
    """Write about `size` bytes of text into Parquet files in `folder`, in the order of a hash; return how many documents."""
    texts = dict.fromkeys(itertools.chain(guide_pages().values(), web_pages().values()))
    order = sorted(texts, key=lambda text: hashlib.sha256(text.encode("utf-8", "replace")).digest())
    ends = itertools.accumulate(len(text.encode("utf-8", "replace")) for text in order)
    some = [text for text, end in zip(order, ends, strict=True) if end <= size and text.strip()]
    folder.mkdir()
    for number in range(FILES):
        rows = [{"id": str(n), "text": some[n]} for n in range(number, len(some), FILES)]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{number:02d}.parquet")
    return len(some)


def stages(words: str) -> str:
    """Return the four rule sets of a recipe."""
    names = ("gopher_repetition", "gopher_quality", "c4", "fineweb")
    tables = [f'[[stage]]\nuse = "{name}"\nwords = "{words}"\n' for name in names]
    return "".join(tables).replace('"c4"\n', '"c4"\nfilter_no_terminal_punct = false\n')


def ours(folder: pathlib.Path, label: str, made: str, workers: int) -> float:
    """Run tokenmill once; print what each stage took and left; return its seconds."""
    recipe = folder / f"{label}.toml"
    recipe.write_text(f'name = "{label}"\n[input]\npaths = ["texts/*.parquet"]\n{made}')
    with tempfile.TemporaryDirectory(dir=folder) as out:
        command = ["run", str(recipe), "--out", f"{out}/out", "--workers", str(workers), "--json"]
        seconds, _, _, said = watched([sys.executable, "-m", "tokenmill", *command])
    summary = json.loads(said)
    cpu = ", ".join(f"{s['stage']} {s['cpu_seconds']:.2f}" for s in summary["stages"])
    print(
        f"  ours, {label}: {seconds:.2f} s, kept {summary['kept']}; CPU s {summary['cpu_seconds']:.2f}: {cpu}",
        flush=True,
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="Python of an environment with datatrove")
    parser.add_argument("--peer-script", help="the script that runs it")
    parser.add_argument("--mb", type=float, default=16)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--words", default="unicode")
    given = parser.parse_args()
    rules = stages(given.words)
    taken: dict[str, list[float]] = {"filtered": [], "all": [], "peer": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print(f"{write_texts(folder / 'texts', int(given.mb * 1e6))} documents", flush=True)
        for _ in range(given.runs):
            taken["filtered"].append(ours(folder, "filtered", rules + DEDUP, given.workers))
            taken["all"].append(ours(folder, "all", DEDUP + rules, given.workers))
            if given.peer:
                command = [given.peer, given.peer_script, "--text", f"{folder}/texts/*.parquet", "--what", "text"]
                command += ["--out", f"{folder}/peer", "--workers", str(given.workers)]
                seconds, _, _, said = watched(command)
                lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
                stages_ = ", ".join(f"{line['stage']} {line['seconds']:.2f}" for line in lines)
                print(f"  peer: {seconds:.2f} s: {stages_}", flush=True)
                taken["peer"].append(seconds)
    middle = {label: statistics.median(times) for label, times in taken.items() if times}
    for label in ("filtered", "all"):
        ratio = f", {middle['peer'] / middle[label]:.1f} times as fast as the peer" if given.peer else ""
        print(f"{label}: {middle[label]:.2f} s{ratio}")


if __name__ == "__main__":
    main()
