"""A reader's own table: read it, choose a model, report."""
