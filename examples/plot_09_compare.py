"""
Compare and tune
================

Train many learners and settings in one reading of the data, and compare their progressive errors.
"""

# %%
# Lists are values to try. Each model ends with the same bits as if it were trained alone.

import altair as alt
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer

import sureline
from sureline.datasets import make_mail

texts, labels = make_mail(20_000, random_state=0)
X = HashingVectorizer(n_features=2**18, alternate_sign=False, norm=None).transform(texts)
result = sureline.tournament(
    {"SCW": {"C": [0.03, 0.1, 0.3, 1.0]}, "AROW": {"r": [0.3, 1, 3, 10]}, "PA": {"C": [0.003, 0.01, 0.03]}}, (X, labels)
)
print("best:", result.best)

# %%
# Error with its 95 % interval.

table = pd.DataFrame(
    [
        {"model": run.name, "error": run.error, "low": run.error_interval[0], "high": run.error_interval[1]}
        | {"learner": run.name.split("(")[0].split()[0]}
        for run in result.runs
    ]
)
base = alt.Chart(table, width=420).encode(y=alt.Y("model").sort(field="error"), color="learner")
points = base.mark_point(filled=True, size=70).encode(x=alt.X("error").scale(zero=False))
chart = (base.mark_rule().encode(x=alt.X("low").title("error"), x2="high") + points).properties(
    description="Error of eleven settings with 95 % intervals, the best on top."
)
