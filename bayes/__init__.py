"""What a rational agent believes after reading the corpus."""
