"""Each kind of mistake in words: a file for each of `compiler/problems`."""
