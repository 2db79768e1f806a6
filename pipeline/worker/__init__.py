"""What a worker does with one shard: read it, take it through the stages of a pass, write and commit the outcome."""
