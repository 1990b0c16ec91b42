"""Random numbers: functions of a state, which is a key and a place in its stream."""
