"""The examination of Hase et al. 2024: coherence with a rational agent, and with the laws of probability."""
