"""What shows that one prompt is better than another: items and their scores, the gate, its power, and intervals."""
