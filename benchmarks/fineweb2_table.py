"""Make stages/quality/fineweb2.tsv.zst out of FineWeb-2's published configuration, and say what is in it.

    python benchmarks/fineweb2_table.py THRESHOLDS.json

THRESHOLDS.json maps a language and script (``deu_Latn``) to the values of its file in the folder ``configs`` of
huggingface/fineweb-2 (Apache-2.0). The same input gives the same bytes.
"""

import json
import pathlib
import sys

import zstandard

from stages.quality.fineweb2 import COLUMNS, FILE

NUMBERS = (
    "dup_line_frac",
    "line_punct_thr",
    "max_avg_word_length",
    "max_non_alpha_words_ratio",
    "min_avg_word_length",
    "new_line_ratio",
)


def row(label: str, values: dict) -> str:
    """Return a line: label, the numbers in the order of `COLUMNS`, stop words; all separated by tabs."""
    numbers = {name: values[name] for name in NUMBERS}
    numbers |= {f"top_{n}_gram": limit for n, limit in values["top_n_grams"]}
    numbers |= {f"duplicated_{n}_n_grams": limit for n, limit in values["dup_n_grams"]}
    assert set(numbers) == set(COLUMNS), label
    assert not any(mark in word for word in values["stopwords"] for mark in "\t\n"), label
    return "\t".join([label, *(f"{numbers[name]:g}" for name in COLUMNS), *values["stopwords"]])


def main() -> None:
    table = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    for label, values in table.items():
        assert all(float(f"{v:g}") == v for v in values.values() if isinstance(v, float)), label
    text = "\n".join(row(label, table[label]) for label in sorted(table)) + "\n"
    packed = zstandard.ZstdCompressor(level=19, write_content_size=True).compress(text.encode())
    FILE.write_bytes(packed)
    print(f"{len(table)} languages, {len(text.encode()):,} bytes, {len(packed):,} as {FILE.name}")


if __name__ == "__main__":
    main()
