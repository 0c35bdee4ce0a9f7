"""The papers' experiments, built from the library's modules."""
