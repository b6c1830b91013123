"""Edits of a model, and what it answers to questions before and after them; knows no evaluation."""
