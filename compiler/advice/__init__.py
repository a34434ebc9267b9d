"""What a spec most likely does not mean, told of files that are right: one file for each such mistake."""
