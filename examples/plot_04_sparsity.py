"""
Error against sparsity
======================

Train with many penalties in one pass over the data, and choose the sparsity.
"""

# %%
# ``sparsity_path`` trains one model per penalty, all in the same reading.

from sklearn.feature_extraction.text import HashingVectorizer

from sureline import FSOL, SSOL, plot_sparsity_paths, sparsity_path
from sureline.datasets import make_mail

texts, labels = make_mail(20_000, random_state=0)
X = HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None).transform(texts)

ssol = sparsity_path(SSOL(eta=1.0, r=1000.0, schedule="constant"), X, labels, [0, 0.3, 1, 3, 10, 20, 40])
fsol = sparsity_path(FSOL(), X, labels, [0, 1, 3, 10, 30, 100])
print(ssol)

# %%
# The axis runs from many nonzero weights to none. Choose the point before the error rises.

chart = plot_sparsity_paths([ssol, fsol]).properties(
    description="Progressive error against nonzero weights: flat down to about 100 weights, and steep below."
)
