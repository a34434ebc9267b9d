"""Causality (D12): `proof.py` proves it, op by op; `leak.py` tells the step at which a proof was lost."""
