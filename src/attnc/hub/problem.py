"""What stands in the way of an import: one message for the user."""

from __future__ import annotations


class HubError(ValueError):
    """A folder, a configuration or an adapter that does not fit. The message says what, where, and what to do."""
