"""Causality (D12): `proof.py` proves it, `step.py` op by op; `leak.py` tells the step at which a proof was lost."""
