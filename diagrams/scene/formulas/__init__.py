"""Values known without data, and masks of positions: formulas as a reader would write them, and patterns."""
