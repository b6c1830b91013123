"""What is said of a world: language, sentences, documents, tokens."""
