"""``tokenmill completion``: a script that lets a shell complete commands, options and their values."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.registry import stage_names

SHELLS = {
    "bash": 'eval "$(tokenmill completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(tokenmill completion zsh)" in ~/.zshrc',
    "fish": "tokenmill completion fish > ~/.config/fish/completions/tokenmill.fish",
}


@dataclass(frozen=True)
class Option:
    """An option of a command: its names, what it does, and the words that may follow."""

    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command, with the words before it: `help`, its options, and the words that its arguments may be."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def add_parser(commands: Any) -> None:
    """Register the command."""
    said = "\n".join(f"  {shell:<6}{how}" for shell, how in SHELLS.items())
    parser = commands.add_parser(
        "completion",
        help="print a script for completion in bash, zsh or fish",
        description=f"To use it:\n{said}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=tuple(SHELLS))
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print the script."""
    found = list(commands_of(given.build_parser()))
    print({"bash": bash, "zsh": zsh, "fish": fish}[given.shell](found))
    return 0


def commands_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), help: str = "") -> Iterator[Command]:
    """Yield the command that `parser` reads, and all below it."""
    options: list[Option] = []
    words: list[str] = []
    below: list[Iterator[Command]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            words += action.choices
            below += [commands_of(sub, (*path, name), said.get(name, "")) for name, sub in action.choices.items()]
        elif action.option_strings:
            choices = stage_names() if action.dest == "stage" else action.choices or ()
            text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help).replace("%(default)s", "")
            options.append(Option(tuple(action.option_strings), text, tuple(map(str, choices))))
        elif action.dest == "name" and path == ("stages",):
            words += stage_names()
        else:
            words += map(str, action.choices or ())
    yield Command(path, help, tuple(options), tuple(words))
    for commands in below:
        yield from commands


def bash(commands: list[Command]) -> str:
    """Return the script for bash."""
    cases, values = [], []
    for command in commands:
        names = [name for option in command.options for name in option.names]
        words = shlex.quote(" ".join([*command.words, *names]))
        cases.append(f"        {shlex.quote(' '.join(command.path))}) words={words} ;;")
        for option in command.options:
            if option.choices:
                pattern = "|".join(shlex.quote(" ".join([*command.path, name])) for name in option.names)
                values.append(f"        {pattern}) words={shlex.quote(' '.join(option.choices))} ;;")
    deep = "|".join(sorted({command.path[0] for command in commands if len(command.path) > 1}))
    return f"""# bash completion of tokenmill
_tokenmill() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" at="" words=""
    [ "$COMP_CWORD" -gt 1 ] && at="${{COMP_WORDS[1]}}"
    case "$at" in
        {deep}) [ "$COMP_CWORD" -gt 2 ] && at="$at ${{COMP_WORDS[2]}}" ;;
    esac
    case "$at" in
{chr(10).join(cases)}
    esac
    case "$at $prev" in
{chr(10).join(values)}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    case "$cur" in -*) return ;; esac
    [ -n "$at" ] && COMPREPLY+=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _tokenmill tokenmill"""


def zsh(commands: list[Command]) -> str:
    """Return the script for zsh, which understands that of bash."""
    return f"autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n{bash(commands)}"


def fish(commands: list[Command]) -> str:
    """Return the script for fish."""
    lines = ["# fish completion of tokenmill"]
    for command in commands:
        seen = " ".join(command.path) or ""
        condition = "__fish_use_subcommand" if not seen else f"__fish_seen_subcommand_from {command.path[-1]}"
        for sub in commands:
            if sub.path[:-1] == command.path and sub.path:
                lines.append(
                    f"complete -c tokenmill -n {shlex.quote(condition)} -a {sub.path[-1]} -d {shlex.quote(sub.help)}"
                )
        for option in command.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            choices = f" -x -a {shlex.quote(' '.join(option.choices))}" if option.choices else ""
            lines.append(
                f"complete -c tokenmill -n {shlex.quote(condition)} {names} -d {shlex.quote(option.help)}{choices}"
            )
    return "\n".join(lines)
