"""Exporting: functions as one file of machine code, which `retrograde.runtime` and its counterpart in C load and run."""
