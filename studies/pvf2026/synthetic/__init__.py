"""The synthetic sweep, and what explains its results."""
