"""What generated code carries along: modules that import nothing of ours, and are read as text."""
