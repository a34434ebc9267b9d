"""What is wrong with a checkpoint, in one line."""


class CheckpointError(ValueError):
    """A checkpoint cannot be written, is damaged, or is of another model."""
