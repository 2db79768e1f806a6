"""Documents looked at before a filter is chosen: how every signal is distributed, and what published thresholds would remove."""
