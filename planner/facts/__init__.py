"""What others measured and published: models, accelerators, runs, failures, fits. Every row names its source.

Status marks inside a source: P primary (paper, model card, config, official repository), S secondary quoting a
primary, C computed from P or S, R recalled and not re-read.
"""
