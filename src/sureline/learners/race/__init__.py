"""Many learners in one pass: poor ones leave, and the others become one linear model."""
