"""What sparsity costs: a learner with many strengths of its l1 penalty, trained in one pass, as table and picture."""

from .one_pass import sparsity_path
from .result import SparsityPath, plot_sparsity_paths

__all__ = ["SparsityPath", "plot_sparsity_paths", "sparsity_path"]
