"""``tokenmill`` and ``python -m tokenmill``.

Before anything else is imported, the working directory and whatever PYTHONPATH names go behind what is installed: a
folder called ``pipeline`` or ``json`` that lies about must not be taken for ours or Python's.
"""

import contextlib
import os
import signal
import sys
import sysconfig

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _installed_first() -> None:
    """Order the module path: the standard library, what is installed, then the rest; the working directory not at all."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = sysconfig.get_paths()
    first = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    first |= {os.path.realpath(os.path.join(path, "lib-dynload")) for path in list(first)}
    try:
        here = {"", os.path.realpath(os.curdir)}
    except OSError:  # it was removed
        here = {""}
        sys.path[:] = [path for path in sys.path if os.path.isabs(path)]
    known = [path for path in sys.path if os.path.realpath(path) in first or path.endswith(".zip")]
    rest = [path for path in sys.path if path not in known and path not in here and os.path.realpath(path) not in here]
    sys.path[:] = [*known, *([] if ours in known else [ours]), *(path for path in rest if path != ours)]


def _streams_open() -> None:
    """Open the standard streams that whoever started us has closed: a file opened later must not take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _leave(number: int, frame: object) -> None:
    """End at once: nothing is under way yet, or nothing any more."""
    with contextlib.suppress(OSError):
        os.write(2, b"\ntokenmill: stopped\n")
    os._exit(128 + number)


def _stops_early() -> None:
    """Let a signal end us without a word more than needed while modules are imported, and after the work is done."""
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)


def main() -> int:
    """Run the command line."""
    _streams_open()
    _stops_early()
    _installed_first()
    from pipeline.imports import own_process

    own_process()
    from tokenmill.cli import main as command_line

    code = command_line()
    for number in STOPS:  # the work is done; ignored, not blocked, for other threads take signals too
        signal.signal(number, signal.SIG_IGN)
    return code


if __name__ == "__main__":
    sys.exit(main())
