"""The book: pages, results, and the tools that build it."""
