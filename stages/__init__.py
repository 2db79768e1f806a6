"""The stages of the mission, a folder for each kind; found by name through their entry points."""

import pipeline  # noqa: F401  # finds the place for compiled kernels
