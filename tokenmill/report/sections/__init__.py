"""The sections of the page of a run, in the order in which they stand on it."""
