"""
A first model
=============

Train a confidence-weighted classifier in one pass, and watch its error fall.
"""

# %%
# ``fit`` makes one pass. No scaling is needed: features are divided by their running mean size.

import altair as alt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sureline import SCW, Perceptron
from sureline.evaluate import prequential

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
clf = SCW().fit(X, y)
print(f"accuracy on new rows: {clf.score(X_test, y_test):.3f}")

# %%
# Each row is predicted before it is learned from. So the stream itself measures the error.

result = prequential({"SCW": SCW(), "Perceptron": Perceptron()}, (X, y), window=100)
chart = result.plot().properties(
    description="Error over the latest 100 examples. Both learners start near 30 %; SCW ends lower than the Perceptron."
)

# %%
# Each score has a standard deviation. Mistakes occur where it is large relative to the score.

rows = pd.DataFrame(
    {
        "score": clf.decision_function(X_test),
        "standard deviation": clf.decision_std(X_test),
        "answer": ["right" if right else "wrong" for right in clf.predict(X_test) == y_test],
    }
)
chart = (
    alt.Chart(rows, width=420, height=260, description="Mistakes have scores near zero or a large standard deviation.")
    .mark_circle(size=50)
    .encode(x="score", y=alt.Y("standard deviation").scale(zero=False), color="answer")
)
