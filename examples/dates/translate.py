"""Translate German dates with the weights that run.py trained, in NumPy alone.

python examples/dates/translate.py "Freitag, 3. Mai 2041" 03.05.41 [--weights out/dates/weights.safetensors]
"""
