"""``tokenmill`` and ``python -m tokenmill``.

Before anything else is imported, the working directory and whatever PYTHONPATH names go behind what is installed: a
folder called ``pipeline`` or ``json`` that lies about must not be taken for ours or Python's.
"""

import os
import sys
import sysconfig


def _installed_first() -> None:
    """Order the module path: the standard library, what is installed, then the rest; the working directory not at all."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = sysconfig.get_paths()
    first = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    first |= {os.path.realpath(os.path.join(path, "lib-dynload")) for path in list(first)}
    here = {"", os.path.realpath(os.curdir)}
    known = [path for path in sys.path if os.path.realpath(path) in first or path.endswith(".zip")]
    rest = [path for path in sys.path if path not in known and path not in here and os.path.realpath(path) not in here]
    sys.path[:] = [*known, *([] if ours in known else [ours]), *(path for path in rest if path != ours)]


def main() -> int:
    """Run the command line."""
    _installed_first()
    from tokenmill.cli import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
