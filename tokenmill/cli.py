"""The command line: one parser, one place where a person's fault becomes one clear line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NoReturn

from pipeline.errors import AccountingError, UserError
from pipeline.imports import imported_late
from pipeline.registry import did_you_mean
from pipeline.stage import installed_version
from tokenmill.streams import safe_streams
from tokenmill.terminal import visible

COMMANDS = (
    "init",
    "run",
    "status",
    "show",
    "inspect",
    "analyse",
    "what-if",
    "report",
    "compare",
    "clean",
    "stages",
    "quality",
    "tokenizer",
    "tokens",
    "batch",
    "plan",
    "completion",
)
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run: workers first, finished shards kept. A second one ends it at once."""
STOPPED = "tokenmill: stopped; finished shards are kept, run the same command to go on"


class Stopped(KeyboardInterrupt):
    """A signal asked the program to end."""

    def __init__(self, number: int):
        self.number = number
        super().__init__(signal.Signals(number).name)


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise UserError with `message` and where to look."""
        raise UserError(f"{message}; `{self.prog} --help` shows what there is")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; with `only`, the parts of that one command are imported and no others."""
    parser = Parser(
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
    with safe_streams():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        os.getcwd()
    except OSError:
        print("tokenmill: the working directory was removed; change to one that is there", file=sys.stderr)
        return 2
    only = arguments[0] if arguments and arguments[0] in COMMANDS else None
    try:
        if arguments and only is None and not arguments[0].startswith("-"):
            raise UserError(
                f"there is no command {arguments[0]!r}{did_you_mean(arguments[0], COMMANDS)}; `tokenmill` lists them"
            )
        imported_late()
        parser = build_parser(only)
        given = parser.parse_args(arguments, argparse.Namespace(build_parser=build_parser))
        if given.command is None:
            parser.print_help()
            return 2
        with _stoppable():
            code = int(given.run(given) or 0)
            sys.stdout.flush()
            return code
    except UserError as error:
        print(visible(f"tokenmill: {error}"), file=sys.stderr)
        return 2
    except AccountingError as error:
        print(f"tokenmill: the accounts do not balance, which is a defect: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        print(f"\n{STOPPED}", file=sys.stderr)
        return 128 + number
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except Exception:
        traceback.print_exc()
        print("tokenmill: this is a defect of tokenmill, or of a stage of another package", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Let the first of the signals `STOPS` end the block as Ctrl-C would, and the next one the process: its workers end
    with it. A signal that whoever started us has us ignore, as nohup does, stays ignored."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            os._exit(128 + number)
        stopping = True
        raise Stopped(number)

    before = {}
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # not in the main thread
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
