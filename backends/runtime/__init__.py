"""What generated code imports: modules that import nothing else of the project, and are read as text. One file for all
models of a folder holds them all (backends/text/carried.py); a single file has the definitions that it uses.
"""
