"""What layers of networks compute: affine maps, activations, attention, normalisation, recurrence, losses."""
