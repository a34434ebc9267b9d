"""What a person asked for that cannot be shown."""

from __future__ import annotations


class InspectError(ValueError):
    """One message: what, where, and how to mend it."""
