"""Engine py3langid: its naive Bayes model of byte n-grams in 140 languages, run by a kernel of ours.

M. Lui and T. Baldwin, "langid.py: An Off-the-shelf Language Identification Tool", ACL 2012; py3langid 0.4 (BSD-3).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import lzma
import pathlib

import numpy as np

from stages.language.naive_bayes import SCALE, log_posteriors
from stages.language.names import NAMES

WINDOW = 256
WINDOWS = 3
"""Of a longer text, at most so many windows of so many bytes are scored, evenly spread: more tell no more."""

_LABELS = list(NAMES)
LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig "
    "is it ja jv ka kk km kn ko ku ky la lg ln lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt qu ro ru sa si "
    "sk sl so sq sr sr sv sw ta te th tl tr ug uk ur uz vi xh yo zh zu zxx ace bcl dz ext gcf gom grc gug hbo kik nso "
    "pcm rw se sn st uz an ary crh fo fuv gcr guw kab lb lij ltg uzs wa sdh arz ba mt nn oc tg tk tt vec vo wuu yue"
)
"""The model's classes, in its order; stated, so that a recipe can be checked without unpacking the model."""
_RENAMED = {"gug": "gn", "kik": "ki", "srl": "sr"}


def scores(text: bytes, windows: int = WINDOWS) -> tuple[np.ndarray, int]:
    """Return (float32, shape (languages,): log posterior of each of `label_numbers`; how many bytes were looked at)."""
    if len(text) > WINDOW * windows:
        step = len(text) // windows
        starts = [step * n + (step - WINDOW) // 2 for n in range(windows)]
        text = b" ".join(text[start : start + WINDOW] for start in starts)
    return log_posteriors(np.frombuffer(text, np.uint8), *_model()), len(text)


def label_numbers() -> np.ndarray:
    """Return int64, shape (languages,): the place in `names.NAMES` of each language of the model; -1: none."""
    labels = [_RENAMED.get(label, label) for label in LANGUAGES.split()]
    return np.array([_LABELS.index(label) if label in NAMES else -1 for label in labels], np.int64)


@functools.cache
def _model() -> tuple[np.ndarray, ...]:
    with np.load(io.BytesIO(lzma.decompress(_path().read_bytes())), allow_pickle=False) as data:
        weights = np.round(data["ptc"].astype(np.float32) * SCALE).astype(np.int16)
        next_row = data["nextmove"].reshape(-1, 256).astype(np.uint32)
        arrays = (next_row, data["nextmove_row"].astype(np.uint16), data["out_feat"].astype(np.int32), weights)
        if data["classes"].tolist() != LANGUAGES.split():
            raise ValueError(
                "the model of this py3langid knows other languages; install the version tokenmill asks for"
            )
        return (*arrays, data["pc"].astype(np.float32))


def _path() -> pathlib.Path:
    spec = importlib.util.find_spec("py3langid")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("py3langid is missing; install tokenmill again, which brings it")
    return pathlib.Path(spec.origin).parent / "data" / "model.npz.xz"


@functools.cache
def digest() -> str:
    """Return the SHA-256 of the model's file."""
    return hashlib.sha256(_path().read_bytes()).hexdigest()
