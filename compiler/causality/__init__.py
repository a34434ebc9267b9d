"""Causality, proved; or the step at which the proof was lost (D12)."""
