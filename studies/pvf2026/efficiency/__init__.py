"""Intervention Efficiency: the closed form, checked."""
