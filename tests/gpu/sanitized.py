"""Every kernel once, in seconds: for ``compute-sanitizer python tests/gpu/sanitized.py``."""

import cupy
import numpy as np

from sureline import BCW

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 40))
scores = X @ rng.standard_normal((40, 3))
for dtype in ("float64", "float32"):
    for n_classes in (2, 3):
        for multi_class in ("native", "ovr"):
            for normalize in ("none", "row", "scale"):
                rows = cupy.asarray(X.astype(dtype))
                y = scores[:, :n_classes].argmax(axis=1)
                model = BCW(normalize=normalize, multi_class=multi_class, dtype=dtype, q=n_classes - 1)
                model.fit(rows, y).decision_std(rows)
wide = cupy.asarray(rng.standard_normal((100, 600)))
BCW().fit(wide, np.arange(100) % 2).decision_std(wide)
print("every kernel has run")
