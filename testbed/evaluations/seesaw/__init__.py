"""Seesaw-CF (Halevy et al. 2024): edit one thing about a person, and see whom it moves."""
