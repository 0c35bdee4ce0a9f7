"""Zhang, Tran and Weng (2026), run again."""
