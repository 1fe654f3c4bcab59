"""Models: arrays of weights, how they grow, learn and score, and their file form."""
