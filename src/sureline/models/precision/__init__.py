"""Weights of online-batch learners, with a full precision or covariance."""
