"""Examinations of edited models, one folder each."""
