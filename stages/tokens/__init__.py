"""Tokenizers trained on the corpus, and the tokens of every document."""
