"""What is wrong with a checkpoint, in one line."""

from ..dsl.base.escapes import escaped


class CheckpointError(ValueError):
    """A checkpoint cannot be written, is damaged, or is of another model."""

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))
