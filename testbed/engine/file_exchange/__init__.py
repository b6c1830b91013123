"""Editors elsewhere: cases and questions go out as files, and answers come back."""
