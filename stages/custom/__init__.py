"""Rules of the user's own, as functions."""
