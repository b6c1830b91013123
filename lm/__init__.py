"""The language model, and the ways to edit it."""

VERSION = 1
"""Raised when the same training comes to another model, or when a model answers otherwise."""
