"""What is computed along axes: sums and extremes, running ones, spread, order, ranks, searches."""
