"""Runs a corpus stage that takes its time over its decision, on local workers or on a Ray cluster."""

import pathlib
import sys

import tokenmill
from tests.cluster.test_ray import Ponders


def main(folder: str, name: str, address: str) -> None:
    """Run it over the texts in `folder`."""
    where = {} if address == "local" else {"executor": "ray", "address": address}
    inputs = [str(pathlib.Path(folder) / "in/0.jsonl")]
    tokenmill.run(stages=[Ponders()], inputs=inputs, out=f"{folder}/{name}", **where)


if __name__ == "__main__":
    main(*sys.argv[1:])
