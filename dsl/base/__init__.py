"""What the classes of all floors are made with."""
