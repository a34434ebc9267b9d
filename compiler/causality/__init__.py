"""Causality (D12): `proof.py` asks the relation of items, `telling.py` says how a leak came about, `leak.py` where."""
