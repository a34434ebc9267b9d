"""What is decided before any code is written: classes, sharing of weights, captures."""
