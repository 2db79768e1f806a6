"""What stages share: words, shingles and their kernels."""
