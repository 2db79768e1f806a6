"""Datasets on the Hugging Face Hub: ``hf://datasets/OWNER/NAME[@REVISION]/PATH``, read by the Hub's web addresses.

Files are listed by the Hub's public API and read as any other file of a web server. ``HF_ENDPOINT`` names another Hub, and
``HF_TOKEN`` (or the file that ``hf auth login`` leaves) opens what is not public.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from pipeline.errors import InputError

SECONDS, PAUSES = 10.0, (0.5, 2.0)
"""Deadline of a question to the API, and the pauses before it is asked again where the Hub is busy."""
_ADDRESS = re.compile(r"hf://datasets/([^/@]+)/([^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/]+))?(?:/(.*))?")
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')


def endpoint() -> str:
    """Return the address of the Hub."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def token_for(url: str) -> str:
    """Return the token to read `url` with: none where it is not of the Hub."""
    if not url.startswith(f"{endpoint()}/"):
        return ""
    home = os.environ.get("HF_HOME") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    place = pathlib.Path(os.environ.get("HF_TOKEN_PATH") or pathlib.Path(home) / "token").expanduser()
    try:
        return os.environ.get("HF_TOKEN") or place.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


@dataclass(frozen=True)
class Dataset:
    """A dataset at a revision: a branch, a tag or a commit."""

    owner: str
    name: str
    revision: str = "main"

    @classmethod
    def of(cls, url: str) -> tuple[Dataset, str]:
        """Return the dataset that `url` names, and the path in it. Raises InputError for another form."""
        found = _ADDRESS.fullmatch(url)
        if found is None or not found[4]:
            raise InputError(f"{url}: name files of a dataset, as hf://datasets/OWNER/NAME/data/*.parquet")
        return cls(found[1], found[2], urllib.parse.unquote(found[3] or "main")), found[4]

    def address(self, path: str) -> str:
        """Return the web address of file `path`."""
        return f"{endpoint()}/datasets/{self.owner}/{self.name}/resolve/{self._revision}/{path}"

    def names(self, folder: str) -> list[str]:
        """Return the files below `folder`, sorted. Raises InputError where the Hub does not say."""
        below = f"/{urllib.parse.quote(folder)}" if folder else ""
        ask = f"{endpoint()}/api/datasets/{self.owner}/{self.name}/tree/{self._revision}{below}?recursive=true"
        found: list[str] = []
        while ask:
            entries, ask = self._asked(ask)
            found += [str(entry["path"]) for entry in entries if entry.get("type") == "file"]
        return sorted(found)

    @property
    def _revision(self) -> str:
        return urllib.parse.quote(self.revision, safe="")

    def _asked(self, url: str) -> tuple[list[dict[str, object]], str]:
        """Return what the API answers at `url`, and where the rest is; "" behind the last."""
        token = token_for(url)
        question = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
        for pause in (*PAUSES, None):
            try:
                with urllib.request.urlopen(question, timeout=SECONDS) as answer:
                    entries = json.loads(answer.read())
                    more = _NEXT.search(answer.headers.get("Link") or "")
                if not isinstance(entries, list):
                    raise ValueError("it is no list of files")
                return entries, more[1] if more and more[1].startswith(f"{endpoint()}/") else ""
            except urllib.error.HTTPError as error:
                if pause is None or not (error.code == 429 or error.code >= 500):
                    raise InputError(f"hf://datasets/{self.owner}/{self.name}: {self._meaning(error.code)}") from error
                time.sleep(pause)
            except (OSError, ValueError) as error:
                said = getattr(error, "reason", None) or error
                raise InputError(
                    f"hf://datasets/{self.owner}/{self.name}: no answer of {endpoint()} ({said})"
                ) from error
        raise AssertionError

    def _meaning(self, code: int) -> str:
        if code == 404:
            return f"there is no such dataset, revision {self.revision!r} or folder; mend the path"
        if code in (401, 403):
            return "there is no such dataset, or these credentials may not read it; mend the path, or set HF_TOKEN"
        return f"{endpoint()} answers with error {code}; try again later"
