"""A quality classifier of one's own: documents good and bad in, a fastText model and what it is worth out."""
