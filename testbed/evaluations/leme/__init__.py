"""LEME (Rosati et al. 2024): what does an edited model write?"""
