"""Programs that differ are drawn differently: `signature` says what a reader sees of a figure."""
