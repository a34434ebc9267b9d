"""One file for each thing that an editor asks."""
