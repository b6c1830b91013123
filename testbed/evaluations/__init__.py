"""Evaluations of edited models, one folder each."""
