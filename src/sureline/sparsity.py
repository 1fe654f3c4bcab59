"""Error against sparsity: a learner with many strengths of its l1 penalty, trained in one pass."""

from .evaluate.sparsity_path import sparsity_path
from .evaluate.sparsity_path_result import SparsityPath, plot_sparsity_paths

__all__ = ["SparsityPath", "plot_sparsity_paths", "sparsity_path"]
