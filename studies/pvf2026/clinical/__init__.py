"""Breast and cervical cancer."""
