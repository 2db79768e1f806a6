"""Copies a run folder from a bucket, for those who cannot see its server."""

import sys

from pipeline.storage import Folder


def main(url: str, folder: str) -> None:
    """Copy every file below `url` into `folder`."""
    theirs, ours = Folder(url), Folder(folder)
    for name in theirs.names():
        ours.copy(theirs, name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
