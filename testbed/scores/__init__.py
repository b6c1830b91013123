"""Numbers from results: distances, intervals, summaries, comparisons, tables."""

VERSION = 1
"""Raised when the same values of cases come to another estimate or interval."""
