"""The README is short, and what it says of the stages is what the code says."""

import pathlib
import re

from pipeline.registry import stage_names
from tokenmill.commands.stages import describe

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_has_at_most_150_lines():
    assert len(README.splitlines()) <= 150


def test_the_table_of_stages_is_the_one_in_the_code():
    ours = [name for name, point in stage_names().items() if point.value.startswith("stages.")]
    expected = {name: describe(name)["summary"].rstrip(".") for name in ours}
    table = README[README.index("<!-- stages -->") : README.index("<!-- /stages -->")]
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE)) == expected


def test_every_page_that_the_readme_links_to_exists():
    for target in re.findall(r"\]\(((?!http)[^)]+)\)", README):
        assert (ROOT / target).exists(), target
