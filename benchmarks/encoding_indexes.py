"""Make pipeline/readers/encoding_indexes.npz from the indexes of the Encoding Standard.

    python benchmarks/encoding_indexes.py indexes.json

`indexes.json` is the file of that name that https://encoding.spec.whatwg.org publishes beside its text: for each
index a list of code points by pointer. Only these numbers are taken over, so that the tables are the standard's
under every version of Python.
"""

from __future__ import annotations

import json
import pathlib
import sys

import numpy as np

TARGET = pathlib.Path(__file__).resolve().parents[1] / "pipeline/readers/encoding_indexes.npz"
MULTIBYTE = {"big5": np.uint32, "euc-kr": np.uint16, "gb18030": np.uint16, "jis0208": np.uint16, "jis0212": np.uint16}
KATAKANA = "iso-2022-jp-katakana"  # only encoders use it


def make(indexes: dict[str, list]) -> dict[str, np.ndarray]:
    """Return the arrays of the file: 0 stands where an index has no code point."""
    tables = {name: np.array([point or 0 for point in indexes[name]], kind) for name, kind in MULTIBYTE.items()}
    tables["gb18030-ranges"] = np.array(indexes["gb18030-ranges"], np.uint32)
    single = sorted(set(indexes) - set(tables) - {KATAKANA})
    tables["single-byte-names"] = np.array(single)
    tables["single-byte"] = np.array([[point or 0 for point in indexes[name]] for name in single], np.uint16)
    return tables


if __name__ == "__main__":
    tables = make(json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8")))
    np.savez_compressed(TARGET, **tables)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes, {sum(table.size for table in tables.values()):,} entries")
