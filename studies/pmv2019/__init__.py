"""Zhang, Barr et al. (2019), run again."""
