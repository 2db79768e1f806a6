"""spaCy's English pipeline and its tables, loaded on import: for the fork server, so that workers need not each load it."""

from stages.text import spacy_split

spacy_split.seams()
spacy_split.tables()
