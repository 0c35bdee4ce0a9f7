"""The public data sets: where they are, how they are read."""
