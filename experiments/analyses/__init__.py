"""What is measured without edits by the testbed: agents alone, simulations, edits worked out by hand."""
