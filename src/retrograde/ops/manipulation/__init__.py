"""The same elements in another place: moved, chosen, joined, repeated, gathered, scattered."""
