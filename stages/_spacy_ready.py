"""spaCy's English pipeline, loaded on import: for the fork server, so that workers need not each load it."""

from stages import _spacy

_spacy.seams()
