"""Asks the nodes of a cluster for what none of them has, and prints what is said, a line a case."""

import pathlib
import sys

from pipeline.errors import UserError
from pipeline.executors import cluster
from pipeline.storage import Folder


def main(address: str, folder: str) -> None:
    """Print a line for each kind of lack."""
    out = Folder(folder)
    out.put("sign", b"1")
    file = pathlib.Path(folder) / "five"
    file.write_bytes(b"12345")
    wanted, lines = cluster._wanted, []
    with cluster.attached(address) as on_cluster:
        for change in (
            {"versions": {"pyarrow": "1.0"}},
            {"versions": {"nonesuch": "2.0"}},
            {"files": [(str(file), 6)]},
            {"files": [(folder + "/none", 6)]},
            {"folder": folder + "/missing"},
        ):
            cluster._wanted = lambda needs, modules, change=change: wanted(needs, modules) | change
            try:
                list(on_cluster(cluster.Needs(out, "sign"))(len, [(1, "x")], workers=0))
                lines.append("nothing")
            except UserError as error:
                lines.append(str(error))
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
