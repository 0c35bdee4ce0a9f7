"""Run the notebooks, build and check the book."""
