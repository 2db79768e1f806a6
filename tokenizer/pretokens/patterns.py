"""Pretoken patterns: how text is cut before any merge, as each published tokenizer defines it.

GPT-2: openai/gpt-2 ``encoder.py``. cl100k (GPT-4) and o200k (GPT-4o): ``tiktoken_ext/openai_public.py``. Llama 3:
``tokenizer.py`` of meta-llama/llama3. They are written here so that every engine reads them alike (`portable.py`);
the strings that tiktoken ships, which are not, are known as what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from pipeline.errors import UserError
from tokenizer.pretokens.portable import translated

GPT2, CL100K, O200K, LLAMA3, CUSTOM = range(5)
"""Numbers of the scanner's rules; `CUSTOM` takes the `regex` library's path."""

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_PUBLISHED = {
    "gpt2": (GPT2, r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    "cl100k": (
        CL100K,
        _CONTRACTIONS
        + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\z|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "o200k": (
        O200K,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _CONTRACTIONS + "?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _CONTRACTIONS + "?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES,
    ),
    "llama3": (
        LLAMA3,
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES,
    ),
}

_OTHER_NAMES = {
    "gpt-2": "gpt2", "r50k": "gpt2", "r50k_base": "gpt2", "cl100k_base": "cl100k", "gpt-4": "cl100k", "gpt4": "cl100k",
    "o200k_base": "o200k", "gpt-4o": "o200k", "gpt4o": "o200k", "llama-3": "llama3",
}  # fmt: skip

_AS_SHIPPED = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s": "cl100k",
}
"""Strings of tiktoken 0.14 that mean a built-in pattern, and rely on how its engine reads possessive counts and ``$``."""

NAMES = tuple(_PUBLISHED)


@dataclass(frozen=True)
class Pattern:
    """How text is cut into pretokens.

    Attributes:
        name: ``gpt2``, ``cl100k``, ``o200k``, ``llama3``, or ``custom``.
        regex: the pattern as `tokenizers` and `tiktoken` read it.
        kind: number of the scanner's rule.
    """

    name: str
    regex: str
    kind: int

    def compiled(self) -> Any:
        """Return the pattern of Python's `regex` library."""
        return _compile(translated(self.regex))


_compile = lru_cache(maxsize=64)(regex.compile)


def pattern_of(name: str) -> Pattern:
    """Return the built-in pattern called `name`, or `name` itself as a custom regex.

    What a custom regex leaves out between two matches is a pretoken of its own, as in `tokenizers`.

    Raises:
        UserError: neither a known name nor a regex that `regex`, `tokenizers` and `tiktoken` read alike, or one that
            matches the empty string.
    """
    known = _AS_SHIPPED.get(name) or _OTHER_NAMES.get(name.lower(), name.lower())
    if known in _PUBLISHED:
        kind, text = _PUBLISHED[known]
        return Pattern(known, text, kind)
    for published, (kind, text) in _PUBLISHED.items():
        if name == text:
            return Pattern(published, text, kind)
    if is_name(name):
        raise UserError(f"pattern: unknown name {name!r}; known are {', '.join(NAMES)}, or give a regular expression")
    _check_custom(name)
    return Pattern("custom", name, CUSTOM)


def is_name(text: str) -> bool:
    """Return whether `text` is meant as the name of a pattern and not as one."""
    return text.replace("_", "").replace("-", "").isalnum()


@lru_cache(maxsize=64)
def _check_custom(text: str) -> None:
    """Raise UserError unless all three engines take the pattern and read it alike."""
    import tiktoken  # these two take a tenth of a second that built-in patterns need not wait
    from tokenizers import Regex

    ours = translated(text)
    try:
        _compile(ours)
        Regex(text)
        tiktoken.Encoding("check", pat_str=text, mergeable_ranks={b"a": 0}, special_tokens={})
    except Exception as error:  # regex.error, a bare Exception from tokenizers, ValueError from tiktoken
        raise UserError(f"pattern: {text!r} is no regular expression ({' '.join(str(error).split())})") from error
