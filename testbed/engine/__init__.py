"""Edits of a model, and what it answers to questions before and after them; knows no evaluation."""

VERSION = 1
"""Raised when the same editor comes to other edits, is asked otherwise, or other rows are written down."""
