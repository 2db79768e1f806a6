"""The pretoken scanner against the `regex` library, one core: MB/s for each built-in pattern, pretokens compared.

    python benchmarks/tokenizer_scanner.py FOLDER [--megabytes 100] [--peer-megabytes 5]

FOLDER holds Parquet files with a column `text` (`tokenizer_text.py` makes them). By CPU time.
"""

from __future__ import annotations

import argparse
import pathlib

import numpy as np
from tokenizer_common import clock, load, texts_in

from tokenizer.pretokens.patterns import NAMES, pattern_of
from tokenizer.pretokens.scanner import scan
from tokenizer.texts import Texts


def scan_all(kind: int, texts: Texts, ends: np.ndarray) -> int:
    """Scan every document and return the number of pretokens."""
    number = 0
    for start, end in zip(texts.offsets[:-1].tolist(), texts.offsets[1:].tolist(), strict=True):
        while start < end:
            found, start = scan(kind, texts.data, start, end, ends)
            number += found
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--peer-megabytes", type=float, default=5)
    options = parser.parse_args()
    array = texts_in(options.folder, options.megabytes)
    texts, some = Texts.of(array), array[: int(len(array) * options.peer_megabytes / options.megabytes) + 1]
    part, strings = Texts.of(some), some.to_pylist()
    ends = np.empty(1 << 16, np.int64)
    print(f"{len(texts):,} documents, {texts.nbytes / 1e6:.1f} MB; {load()}")
    for name in NAMES:
        pattern = pattern_of(name)
        scan_all(pattern.kind, Texts.of(["compiled"]), ends)
        with clock() as ours:
            number = scan_all(pattern.kind, texts, ends)
        find = pattern.compiled().findall
        with clock() as theirs:
            by_regex = sum(len(find(text)) for text in strings)
        rate, peer = texts.nbytes / 1e6 / ours.cpu, part.nbytes / 1e6 / theirs.cpu
        print(f"{name:8} {rate:6.1f} MB/s (wall {texts.nbytes / 1e6 / ours.wall:.1f}), {texts.nbytes / number:.2f} bytes a pretoken; "
              f"regex {peer:5.1f} MB/s, ratio {rate / peer:.1f}; same number: {scan_all(pattern.kind, part, ends) == by_regex}")  # fmt: skip


if __name__ == "__main__":
    main()
