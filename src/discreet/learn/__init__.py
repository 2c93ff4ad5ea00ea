"""Models that forget the individual: noisy gradient descent and noisy statistics for generalised linear models.

account      what one fit may spend, and the one door to the noise
encoding     rows as integers; what one person may add
losses       residuals as functions of the margin
gradient     the exact sum of clipped gradients
moments      noisy means and variances, by which features are scaled
descent      noisy gradient descent
statistics   noisy sums of products, for linear regression
"""
