"""The world and what is said about it: graphs, noisy sentences, documents, tokens."""
