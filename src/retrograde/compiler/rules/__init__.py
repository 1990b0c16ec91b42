"""Rules: what a node is replaced by where something cheaper gives the same values. `table.py` lists all, each with its reason."""
