"""Transforms: functions that make functions of functions."""
