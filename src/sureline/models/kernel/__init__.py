"""Models of kernel learners: stored examples and their coefficients."""
