"""Experiments: one runnable file per published number; records holds their dated results."""
