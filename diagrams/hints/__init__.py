"""What an author says of a figure: the order of inputs, where rows begin, what is left out, notes, tints."""
