"""The engine: documents, readers, shards, stages, recipes, runs, ledger and executors. Knows no concrete stage."""

from pipeline.compiled import find_cache

find_cache()
