"""Random small configurations of each kind of model that an adapter knows, drawn from all its options."""

from __future__ import annotations

from . import classics, decoders, encoders

KINDS = decoders.KINDS | classics.KINDS | encoders.KINDS
