"""Times of shards on engines, each as a ratio to another way on the same rows in the same run."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scale_sets import stream
from scipy.sparse import csr_matrix

from sureline import scale

COLUMNS = 60
ROWS = 1_000_000  # of the table
SPARK_ROWS = 100_000
PASSES = 4


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = action()
    return time.perf_counter() - begun, found


def table(folder: Path) -> Path:
    """Rows of numbers in an Arrow file, 60 columns wide."""
    import pyarrow as pa

    draw = np.random.default_rng(0)
    w, path = draw.normal(size=COLUMNS), folder / "rows.arrow"
    writer, batch = None, 50_000
    for _ in range(ROWS // batch):
        X = draw.normal(size=(batch, COLUMNS)).astype(np.float32)
        y = (X @ w + draw.normal(size=batch) > 0).astype(np.int8)
        rows = pa.table({**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "label": y})
        if writer is None:
            writer = pa.ipc.new_file(str(path), rows.schema)
        writer.write_table(rows)
    assert writer is not None
    writer.close()
    return path


def workers(found: dict[str, Any], folder: Path) -> None:
    """One process, one worker and two workers of Dask, each with one thread for everything."""
    import sureline.dask

    path = table(folder)
    how: dict[str, Any] = {"r": 1.0, "label": "label", "passes": PASSES, "shard_size": 32 << 20}
    found["table"] = {"rows": ROWS, "columns": COLUMNS, "passes": PASSES, "bytes": path.stat().st_size}
    found["shards"] = len(scale.shards_of(sureline.stream.read(path, label="label"), how["shard_size"])[0])
    scale.train(path, "arow", **{**how, "passes": 1})  # the file is in memory now
    found["alone"], _ = seconds(lambda: scale.train(path, "arow", **how))
    for n in (1, 2):
        begun = time.perf_counter()
        with sureline.dask.local_client(n) as client:
            client.wait_for_workers(n)
            client.run(_imported)
            found[f"start of {n}"] = time.perf_counter() - begun
            found[f"workers {n}"], _ = seconds(lambda: sureline.dask.train(path, "arow", client=client, **how))
    print({name: value for name, value in found.items() if name != "table"}, flush=True)


def _imported() -> None:
    import sureline.scale  # noqa: F401


def spark(found: dict[str, Any], folder: Path) -> None:
    """The same rows, in the memory of Spark, to Classifier and to LogisticRegression."""
    from pyspark.ml.classification import LogisticRegression
    from sklearn.datasets import dump_svmlight_file

    import sureline.spark

    Classifier = sureline.spark.Classifier
    os.environ["PYSPARK_PYTHON"] = sys.executable
    X, y, rest, truth = stream("rcv1", SPARK_ROWS)
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    with sureline.spark.connected("local[2]") as session:
        frame = session.read.format("libsvm").option("numFeatures", X.shape[1]).load(str(folder / "rows.svm")).cache()
        frame.count()
        few = frame.limit(1000).cache()
        few.count()
        for stage in (Classifier(parameters={"r": 10.0}), LogisticRegression(maxIter=2)):
            stage.fit(few)  # both have started
        for name, own in (("arow", {"r": 10.0}), ("arow, settings chosen", {})):
            took, model = seconds(lambda own=own: Classifier(parameters=own, shardRows=SPARK_ROWS // 2).fit(frame))
            found[name] = {"seconds": took, "error": float(np.mean(model.estimator.predict(rest) != truth))}
            print(name, found[name], flush=True)
        path = folder / "rows.svm"
        how: dict[str, Any] = {"session": session, "r": 10.0, "shard_size": path.stat().st_size // 2}
        took, clf = seconds(lambda: sureline.spark.train(path, "arow", **how))
        there = csr_matrix((rest.data, rest.indices + 1, rest.indptr), (len(truth), X.shape[1] + 1))  # as in the file
        found["arow from the file"] = {"seconds": took, "error": float(np.mean(clf.predict(there) != truth))}
        print(found["arow from the file"], flush=True)
        took, model = seconds(lambda: LogisticRegression().fit(frame))
        scores = rest @ model.coefficients.toArray() + model.intercept
        wrong = float(np.mean((scores > 0) != truth))
        found["logistic regression"] = {"seconds": took, "error": wrong, "iterations": model.summary.totalIterations}
        print(found["logistic regression"], flush=True)
    found["rows"] = SPARK_ROWS


def dask_ml(found: dict[str, Any], folder: Path) -> None:
    """Two processes of Dask with sparse blocks of rows: ours, and dask-ml's Incremental with scikit-learn's SGD."""
    try:
        from dask_ml.wrappers import Incremental
    except ImportError as error:
        found["missing"] = str(error)
        print(f"dask-ml is left out: {error}", flush=True)
        return
    import dask.array as da
    from sklearn.linear_model import SGDClassifier

    import sureline.dask

    X, y, rest, truth = stream("rcv1", 2 * SPARK_ROWS)
    with sureline.dask.local_client(2) as client:
        client.wait_for_workers(2)
        client.run(_imported)
        size = len(y) // 8
        blocks = [
            da.from_array(X[k : k + size], chunks=(size, X.shape[1]), asarray=False) for k in range(0, len(y), size)
        ]
        lazy, labels = client.persist([da.concatenate(blocks), da.from_array(y, chunks=size)])
        took, model = seconds(lambda: sureline.dask.train((lazy, labels), "arow", client=client, r=10.0))
        found["arow"] = {"seconds": took, "error": float(np.mean(model.predict(rest) != truth))}
        other = Incremental(SGDClassifier(), shuffle_blocks=False)
        took, _ = seconds(lambda: other.fit(lazy, labels, classes=[0, 1]))
        found["incremental"] = {"seconds": took, "error": float(np.mean(other.estimator_.predict(rest) != truth))}
        found["rows"] = len(y)
        print(found, flush=True)


def measure(keep: Callable[[Any], None]) -> None:
    found: dict[str, Any] = {}
    for name in PARTS:
        found[name] = {}
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](found[name], Path(folder))
        keep(found)


PARTS: dict[str, Callable[[dict[str, Any], Path], None]] = {"workers": workers, "spark": spark, "dask_ml": dask_ml}


if __name__ == "__main__":  # one part, and what is known of the others stays
    cache = Path(__file__).parents[1] / "out/scale/speed.json"
    known = json.loads(cache.read_text()) if cache.exists() else {}
    own: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        PARTS[sys.argv[1]](own, Path(folder))
    cache.write_text(json.dumps({**known, sys.argv[1]: own}, indent=1))
