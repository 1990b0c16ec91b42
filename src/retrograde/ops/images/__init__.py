"""Images, lines and volumes: convolution, pooling, other sizes."""
