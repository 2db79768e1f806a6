"""The command line: one parser, one place where a person's fault becomes one clear line and exit code 2."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from pipeline.errors import AccountingError, UserError

COMMANDS = ("run", "inspect", "report", "clean", "stages", "tokenizer", "plan")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; with `only`, the parts of that one command are imported and no others."""
    parser = argparse.ArgumentParser(
        prog="tokenmill",
        description="From raw crawl shards to a token budget and a priced training run, every document accounted for.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS if only is None else (only,):
        importlib.import_module(f"tokenmill.commands.{name}").add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 a defect of ours, 2 a fault in what was given."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    only = arguments[0] if arguments and arguments[0] in COMMANDS else None
    given = build_parser(only).parse_args(arguments)
    try:
        return int(given.run(given) or 0)
    except UserError as error:
        print(f"tokenmill: {error}", file=sys.stderr)
        return 2
    except AccountingError as error:
        print(f"tokenmill: the accounts do not balance, which is a defect: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ntokenmill: stopped; finished shards are kept, run the same command to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone, as `head` does
        return 141


if __name__ == "__main__":
    sys.exit(main())
