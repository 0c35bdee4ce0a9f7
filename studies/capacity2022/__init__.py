"""Hsu and Calmon (2022), run again."""
