"""The algorithms and their parameters, without scikit-learn."""
