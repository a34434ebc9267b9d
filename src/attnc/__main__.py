"""`python -m attnc` is the command `attnc`."""

from .cli import entry

if __name__ == "__main__":
    entry()
