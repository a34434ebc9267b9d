"""Looking inside: attnc.inspect and `attnc inspect`."""
