"""The world and what is said about it: graphs, noisy sentences, documents, tokens."""

VERSION = 1
"""Raised when the same settings come to another world or corpus, or when one is read otherwise."""
