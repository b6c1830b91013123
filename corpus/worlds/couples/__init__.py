"""Worlds of coupled pairs, generated and real (LEME, Rosati et al. 2024)."""
