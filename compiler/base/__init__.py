"""What every stage needs: where mistakes are reported, names and their spelling, what a text mentions."""
