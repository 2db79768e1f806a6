"""``[tokens]`` of a recipe: token shards of the final corpus, in ``tokens/`` of the run folder.

They are made from what was published, have a manifest of their own, and stand as long as the corpus and the table do.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import RecipeError, UserError
from pipeline.recipe import Recipe, options_from
from pipeline.storage import Folder
from tokenizer.training.options import DEFAULT_SPECIAL_TOKENS

FOLDER = "tokens"


@dataclass(frozen=True, kw_only=True)
class TokensTable:
    """The table ``[tokens]``."""

    vocab_size: int = 0
    """A size of the ladder that the recipe trains; 0: its largest."""
    tokenizer: str = ""
    """A tokenizer.json instead, relative to the recipe."""
    format: tuple[str, ...] = ("megatron",)
    """megatron (always), datatrove, olmo, nanogpt, llmc."""
    eod: str = ""
    """Token behind every document; empty: none."""
    bos: str = ""
    """Token in front of every document; empty: none."""
    shuffle: int | None = None
    """Seed of a shuffle of all documents; without it they stay in the order of the corpus."""
    held_out: float = 0.0
    """Share of the documents that is kept apart, by a hash of their text."""
    part_tokens: int = 1_000_000_000
    """Tokens of one file, about."""
    dtype: str = ""
    """uint16 or int32; empty: uint16 below 65,500 tokens."""


def check_tokens(recipe: Recipe) -> None:
    """Raise RecipeError for a ``[tokens]`` table that cannot work."""
    table = options_from(TokensTable, recipe.tables["tokens"], FOLDER)
    from tokenizer.shards.options import FORMATS

    for name in table.format:
        if name not in FORMATS:
            raise RecipeError("tokens.format", f"{name!r} is unknown; known are {', '.join(FORMATS)}")
    if not 0 <= table.held_out < 1:
        raise RecipeError("tokens.held_out", f"{table.held_out} is no share from 0 to below 1")
    if table.part_tokens < 1:
        raise RecipeError("tokens.part_tokens", f"{table.part_tokens} must be at least 1")
    if table.tokenizer and table.vocab_size:
        raise RecipeError("tokens", "names vocab_size and tokenizer; give one of the two")
    if table.tokenizer:
        from tokenizer.shards.model import open_model

        try:
            open_model(_placed(recipe, table))
        except UserError as error:
            raise RecipeError("tokens.tokenizer", str(error)) from error
        return
    ladder = recipe.tables.get("tokenizer")
    if ladder is None:
        raise RecipeError("tokens", "needs a tokenizer: add a [tokenizer] table, or name a tokenizer.json (tokenizer)")
    for key in ("eod", "bos"):
        name, special = getattr(table, key), ladder.get("special_tokens", DEFAULT_SPECIAL_TOKENS)
        if name and name not in special:
            raise RecipeError(f"tokens.{key}", f"{name!r} is none of tokenizer.special_tokens ({', '.join(special)})")
    sizes = ladder.get("vocab_sizes", ())
    if table.vocab_size and sizes and table.vocab_size not in sizes:
        raise RecipeError("tokens.vocab_size", f"{table.vocab_size} is none of tokenizer.vocab_sizes {list(sizes)}")


def write_tokens(recipe: Recipe, out: Folder, workers: int) -> None:
    """Make the token shards that `recipe` asks for from the finished run in `out`; nothing where they stand."""
    if FOLDER not in recipe.tables:
        return
    from tokenizer.shards.make import make_shards
    from tokenizer.shards.model import open_model
    from tokenizer.shards.options import ShardOptions

    table = options_from(TokensTable, recipe.tables[FOLDER], FOLDER)
    path = _placed(recipe, table) if table.tokenizer else f"{out.url}/tokenizer/{_size(out, table)}"
    options = ShardOptions(
        open_model(path), table.eod, table.bos, table.shuffle, table.held_out, table.part_tokens, table.dtype
    )
    make_shards([f"{out.url}/data"], options, out / FOLDER, formats=table.format, workers=workers, replace=True)


def _placed(recipe: Recipe, table: TokensTable) -> str:
    return table.tokenizer if "://" in table.tokenizer else str(recipe.folder / table.tokenizer)


def _size(out: Folder, table: TokensTable) -> str:
    """Return the size of the ladder to encode by: as asked, or the largest that was reached."""
    if table.vocab_size:
        return str(table.vocab_size)
    return str(max(int(size) for size in out.children("tokenizer") if size.isdigit()))
