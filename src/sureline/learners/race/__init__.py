"""Many learners in one pass: those that are behind leave, and the others become one linear model."""
