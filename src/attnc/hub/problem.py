"""What stands in the way of an import: one message for the user."""

from __future__ import annotations

import json
from typing import Any

from ..dsl.base.escapes import escaped

_MOST = 100  # letters of a value in a message


class HubError(ValueError):
    """A folder, a configuration or an adapter that does not fit. The message says what, where, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))


def as_json(value: Any) -> str:
    """A value of a file, as much of it as a line bears."""
    text = json.dumps(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."
