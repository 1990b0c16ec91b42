"""From data to a tuned prompt: rows, a program with a prompt, instructions proposed from the data, and the search."""
