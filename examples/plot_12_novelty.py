"""
Novelty
=======

Detect without labels that the rows of a stream have changed.
"""

# %%
# The learner sees 8,000 rows once. Of the 12,000 that follow, the last 6,000 have half of their features in columns
# that no training row had. ``novelty`` needs no labels. It has the share of each row's features that are unseen, and
# the standard deviation of its score relative to training.

import altair as alt
import numpy as np
import pandas as pd
from scipy import sparse

from sureline import AROW
from sureline.datasets import make_sparse_stream

X, y = make_sparse_stream(20_000, 2_000, 20, random_state=0)
X = sparse.csr_matrix(X)
X.resize(20_000, 4_000)
later = slice(X.indptr[14_000], X.indptr[20_000])
moved = np.random.default_rng(0).random(later.stop - later.start) < 0.5
X.indices[later] = np.where(moved, X.indices[later] + 2_000, X.indices[later])
X.sort_indices()

clf = AROW().fit(X[:8_000], y[:8_000])
new = X[8_000:]
novelty = clf.novelty(new)
wrong = clf.predict(new) != y[8_000:]

# %%
# Each point is the mean of 500 rows. Both measures jump where the rows change, and so does the error. Only the first
# two are known before the labels.

blocks = (np.arange(new.shape[0]) // 500 + 1) * 500
means = pd.DataFrame(
    {
        "row": blocks,
        "unseen features": novelty.unseen,
        "std relative to training": novelty.std_ratio,
        "mistakes": wrong.astype(float),
    }
)
means = means.groupby("row", as_index=False).mean()
change = alt.Chart(pd.DataFrame({"row": [6_000]})).mark_rule(strokeDash=[4, 4]).encode(x="row")
panels = [
    change
    + alt.Chart(means, width=420, height=110).mark_line(point=True).encode(x="row", y=alt.Y(name).scale(zero=False))
    for name in means.columns[1:]
]
chart = alt.vconcat(*panels).properties(
    description="Unseen features, standard deviation and mistakes along a stream: all three jump where the rows change."
)

# %%
print(means.assign(after=means["row"] > 6_000).drop(columns="row").groupby("after").mean().round(3).to_string())
