"""The replication of three papers: every table and verdict of the book."""
