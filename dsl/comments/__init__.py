"""What comments say: words about what they stand at, and warnings that they let stand."""
