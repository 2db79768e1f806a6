"""From a training step to the documents in it: samplers of trainers reproduced, and what was in a batch."""
