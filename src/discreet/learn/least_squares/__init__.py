"""Linear regression from noisy sums of products."""
