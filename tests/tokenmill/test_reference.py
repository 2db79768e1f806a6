"""Pages and scripts made from the code are those of the code."""

import pathlib
import shutil
import subprocess

import pytest

from tokenmill.cli import COMMANDS, build_parser
from tokenmill.commands.completion import bash, commands_of, fish, zsh
from tokenmill.reference import page

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_page_of_the_recipe_is_the_one_in_the_code():
    made = (ROOT / "docs/recipe.md").read_text("utf-8")
    assert made == page(), "run python -m tokenmill.reference > docs/recipe.md"


def test_every_key_has_a_meaning():
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert [row for row in rows if row.rstrip(" |").endswith(("|", "``"))] == []


def test_every_page_is_in_the_site():
    named = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in named] == []


@pytest.fixture(scope="module")
def commands():
    return list(commands_of(build_parser()))


def complete(script, *words):
    """Return what bash offers for the last of `words`."""
    line = " ".join(f"'{word}'" for word in ("tokenmill", *words))
    asked = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _tokenmill; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return set(subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout.split())


def test_bash_completes_commands_options_values_and_files(commands, tmp_path):
    script = bash(commands)
    assert complete(script, "") == set(COMMANDS) | {"-h", "--help", "--version"}
    assert complete(script, "run", "--wor") == {"--workers"}
    assert complete(script, "init", "--like", "fine") == {"fineweb", "fineweb2"}
    assert complete(script, "inspect", "--stage", "min") == {"minhash_dedup"}
    assert complete(script, "tokenizer", "train", "--vocab") == {"--vocab-sizes"}
    assert complete(script, "run", str(ROOT / "README")) == {str(ROOT / "README.md")}


@pytest.mark.parametrize(("shell", "make"), [("zsh", zsh), ("fish", fish)])
def test_other_shells_take_their_script(commands, shell, make):
    script = make(commands)
    assert all(command in script for command in COMMANDS)
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", script], check=True)
