"""TAXI (Powell et al. 2024): change what a thing is, and see whether the rest follows."""
