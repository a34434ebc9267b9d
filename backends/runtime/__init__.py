"""What generated code carries along, each definition where it is used: modules that import nothing else of the project,
and are read as text (backends/text/carried.py).
"""
