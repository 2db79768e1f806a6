"""The command line: one parser, one place where a person's fault becomes one clear line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

from pipeline.errors import AccountingError, UserError
from pipeline.stage import installed_version

COMMANDS = (
    "run",
    "status",
    "inspect",
    "analyse",
    "what-if",
    "report",
    "clean",
    "stages",
    "quality",
    "tokenizer",
    "tokens",
    "batch",
    "plan",
)
STOPS = ("SIGTERM", "SIGHUP")
"""Signals that end a run as Ctrl-C does: workers first, finished shards kept."""


class Stopped(KeyboardInterrupt):
    """A signal asked the program to end."""

    def __init__(self, number: int):
        self.number = number
        super().__init__(signal.Signals(number).name)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; with `only`, the parts of that one command are imported and no others."""
    parser = argparse.ArgumentParser(
        prog="tokenmill",
        description="From raw crawl shards to a token budget and a priced training run, every document accounted for.",
    )
    parser.add_argument("--version", action="version", version=f"tokenmill {installed_version('tokenmill')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in COMMANDS if only is None else (only,):
        importlib.import_module(f"tokenmill.commands.{name.replace('-', '_')}").add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 a defect of ours, 2 a fault in what was given or around
    it, 128 and a signal's number where one ended it."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    only = arguments[0] if arguments and arguments[0] in COMMANDS else None
    parser = build_parser(only)
    try:
        given = parser.parse_args(arguments)
        if given.command is None:
            parser.print_help()
            return 2
        with _stoppable():
            code = int(given.run(given) or 0)
            sys.stdout.flush()
            return code
    except UserError as error:
        print(f"tokenmill: {error}", file=sys.stderr)
        return 2
    except AccountingError as error:
        print(f"tokenmill: the accounts do not balance, which is a defect: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        print("\ntokenmill: stopped; finished shards are kept, run the same command to go on", file=sys.stderr)
        return 128 + number
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Let the signals `STOPS` end the block as Ctrl-C would."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    before = {}
    for name in STOPS:
        with contextlib.suppress(ValueError):  # not in the main thread
            before[name] = signal.signal(signal.Signals[name], stop)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(signal.Signals[name], handler)


if __name__ == "__main__":
    sys.exit(main())
