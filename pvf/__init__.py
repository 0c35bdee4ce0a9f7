"""Reproducible model selection under the Rashomon effect."""

__version__ = "0.1.0"
