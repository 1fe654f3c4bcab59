"""The rows of Spark's DataFrames, and the classifier as a stage of pyspark.ml."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SURELINE, fail
from engines import descendants, started
from scipy.sparse import csr_matrix
from stream_files import write
from test_partitions import Here, checksum, frame, held, lines

import sureline
from sureline.scale.on_spark import SparkEngine
from sureline.scale.partitions import Rows, Table, train_held

pytestmark = [
    pytest.mark.filterwarnings("default"),  # those of Spark and its own imports
    pytest.mark.engines,
    pytest.mark.xdist_group("spark"),
]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with started("spark") as running:
        yield running.session


@pytest.fixture(scope="module")
def rows() -> tuple[csr_matrix, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(900, 8)) * (draw.random((900, 8)) < 0.4)
    return csr_matrix(X), (X[:, 0] + X[:, 1] > 0.1).astype(float)


@pytest.fixture(scope="module")
def vectors(session: Any, rows: tuple[csr_matrix, np.ndarray]) -> Any:
    """Every third row as a dense vector, the others as sparse ones, beside labels and weights."""
    from pyspark.ml.linalg import Vectors

    X, y = rows
    some = [
        Vectors.dense(row.toarray()[0]) if k % 3 == 0 else Vectors.sparse(8, row.indices.tolist(), row.data.tolist())
        for k, row in enumerate(X)
    ]
    data = [
        (k, each, label, "no" if label else "yes", 1.0 + k % 2)
        for k, (each, label) in enumerate(zip(some, y.tolist(), strict=True))
    ]
    return session.createDataFrame(data, ["id", "features", "label", "word", "weight"]).cache()


def test_partitions_do_not_matter(session: Any, tmp_path: Path) -> None:
    from sureline.spark import predict, train

    rows, found = frame(), []
    parts = held(Table.of, *(rows[k : k + 250] for k in range(0, 900, 250)))
    by_hand = train_held(parts, "arow", Here(), r=1.0)
    path = str(tmp_path / "rows.parquet")
    rows.to_parquet(path)
    for data in (session.createDataFrame(rows.values.tolist(), list(rows.columns)), session.read.parquet(path)):
        clf = train(data, "arow", session=session, r=1.0, shard_rows=250, model=tmp_path / "m")
        assert clf.n_seen_ == 900
        assert np.array_equal(clf.model.weights, by_hand.model.weights)
        found.append((data.rdd.getNumPartitions(), checksum(tmp_path / "m")))
    assert found[0][0] != found[1][0]
    assert found[0][1] == found[1][1]
    answers = predict(clf, data, probabilities=True).toArrow()
    assert np.mean(np.array(answers["label"].to_pylist()) == rows.label) > 0.95
    np.testing.assert_allclose(np.add(answers["probability of no"], answers["probability of yes"]), 1)
    with pytest.raises(ValueError, match="The rows of a shard must be"):
        train(data, "arow", shard_rows=0)
    with pytest.raises(ValueError, match="shard_rows is for DataFrames"):
        train("rows.svm", "arow", shard_rows=5)
    with pytest.raises(ValueError, match="no rows"):
        train(data.limit(0), "arow", r=1.0)


def test_vectors_are_rows_of_a_matrix(vectors: Any, rows: tuple[csr_matrix, np.ndarray]) -> None:
    from sureline.spark import Classifier

    X, y = rows
    weight = 1.0 + np.arange(900) % 2
    by_hand = train_held(
        held(Rows.of, *((X[k : k + 400], y[k : k + 400], weight[k : k + 400]) for k in (0, 400, 800))),
        "arow", Here(), r=1.0, rounds=2,
    )  # fmt: skip
    clf = Classifier(algorithm="arow", parameters={"r": 1.0}, weightCol="weight", shardRows=400, rounds=2)
    model = clf.fit(vectors)
    assert np.array_equal(model.estimator.model.weights, by_hand.model.weights)
    answers = model.transform(vectors).orderBy("id").collect()
    assert answers[0].__fields__[-3:] == ["prediction", "probability", "confidence"]
    assert [each.prediction for each in answers] == by_hand.predict(X).tolist()
    np.testing.assert_array_equal([each.probability.toArray() for each in answers], by_hand.predict_proba(X))
    np.testing.assert_array_equal([each.confidence for each in answers], by_hand.confidence(X))
    assert "ArrowEvalPython" in (plan := model.transform(vectors)._jdf.queryExecution().toString())
    assert plan.partition("Physical Plan")[2].count("ArrowEvalPython") == 1  # each row is scored once


def test_labels_of_text(vectors: Any) -> None:
    from sureline.spark import Classifier

    clf = Classifier(parameters={"r": 1.0}, labelCol="word", probabilityCol="", predictionCol="said")
    model = clf.fit(vectors)
    answers = model.transform(vectors)
    assert answers.columns[-2:] == ["said", "confidence"]
    assert answers.where("said = word").count() > 800
    assert model.estimator.classes_.tolist() == ["no", "yes"]


def test_parameters_are_those_of_pyspark(vectors: Any) -> None:
    from sureline.spark import Classifier

    clf = Classifier(algorithm="pa", parameters={"C": 0.1})
    with pytest.raises(TypeError):
        Classifier("pa")
    other = clf.copy({clf.algorithm: "arow", clf.parameters: {"r": 2.0}})
    assert (clf.getOrDefault("algorithm"), other.getOrDefault("algorithm")) == ("pa", "arow")
    models = clf.fit(vectors, [{clf.parameters: {"C": 0.1}}, {clf.algorithm: "arow", clf.parameters: {"r": 2.0}}])
    assert [type(model.estimator).__name__ for model in models] == ["PA", "AROW"]
    assert models[1].estimator.r == 2.0
    assert "name of a learner" in clf.explainParams()
    assert clf.setParams(rounds=3).getOrDefault("rounds") == 3
    assert models[0].copy({models[0].predictionCol: "p"}).transform(vectors).columns[-3] == "p"


def test_pipelines_and_their_files(vectors: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import StringIndexer

    from sureline.spark import Classifier, ClassifierModel

    indexed = StringIndexer(inputCol="word", outputCol="index", stringOrderType="alphabetAsc")
    clf = Classifier(parameters={"r": 1.0}, labelCol="index")
    pipeline = Pipeline(stages=[indexed, clf])
    pipeline.write().overwrite().save(f"{tmp_path}/pipeline")
    model = Pipeline.load(f"{tmp_path}/pipeline").fit(vectors)
    model.save(f"{tmp_path}/model")
    again = PipelineModel.load(f"{tmp_path}/model")
    answers = [each.transform(vectors).select("probability").collect() for each in (model, again)]
    assert answers[0] == answers[1]
    alone = model.stages[1]
    alone.write().save(f"{tmp_path}/alone")
    read = ClassifierModel.read().load(f"{tmp_path}/alone")
    assert read.uid == alone.uid == clf.uid
    assert read.getLabelCol() == "index"
    assert np.array_equal(ClassifierModel.load(f"{tmp_path}/alone").estimator.coef_, alone.estimator.coef_)
    with pytest.raises(Exception, match="already exists"):
        alone.save(f"{tmp_path}/alone")
    alone.write().overwrite().save(f"{tmp_path}/alone")
    assert Classifier.load(f"{tmp_path}/pipeline/stages/1_{clf.uid}").getOrDefault("parameters") == {"r": 1.0}


def test_cross_validation(vectors: Any, tmp_path: Path) -> None:
    from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder

    from sureline.spark import Classifier

    clf = Classifier(algorithm="arow")
    grid = ParamGridBuilder().addGrid(clf.parameters, [{"r": 1.0}, {"r": 1e6}]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    search = CrossValidator(
        estimator=clf, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, parallelism=2, seed=1
    )
    model = search.fit(vectors)
    assert model.avgMetrics[0] > 0.9
    assert model.bestModel.estimator.r == 1.0
    model.save(f"{tmp_path}/search")
    again = CrossValidatorModel.load(f"{tmp_path}/search").transform(vectors)
    assert evaluator.evaluate(again) == evaluator.evaluate(model.transform(vectors)) > 0.9
    assert BinaryClassificationEvaluator(rawPredictionCol="probability").evaluate(again) > 0.95


def test_what_is_wrong_is_told(session: Any, vectors: Any) -> None:
    from pyspark.ml.linalg import Vectors

    from sureline.spark import Classifier

    clf = Classifier(parameters={"r": 1.0})
    with pytest.raises(ValueError, match=r"featuresCol: there is no column 'x'\. There are id, features"):
        clf.copy({clf.featuresCol: "x"}).fit(vectors)
    with pytest.raises(ValueError, match="labelCol: there is no column 'x'"):
        clf.copy({clf.labelCol: "x"}).fit(vectors)
    with pytest.raises(
        ValueError, match=r"'word' must be a column of vectors, such as VectorAssembler makes\. It is one of string"
    ):
        clf.copy({clf.featuresCol: "word"}).fit(vectors)
    with pytest.raises(ValueError, match="CW with these parameters cannot be learned in shards"):
        clf.copy({clf.algorithm: "cw", clf.parameters: {}}).fit(vectors)
    model = clf.fit(vectors)
    with pytest.raises(ValueError, match="has a column 'prediction' already"):
        model.transform(vectors.withColumnRenamed("word", "prediction"))
    some = [
        (Vectors.dense([1.0, 2.0]), 1.0),
        (Vectors.dense([1.0, 2.0, 3.0]), 0.0),
        (None, 1.0),
        (Vectors.dense([1.0, 2.0]), None),
    ]

    def of(*which: int) -> Any:
        return session.createDataFrame([some[k] for k in which], vectors.select("features", "label").schema)

    with pytest.raises(ValueError, match="The first has 2 features, and that of row 2 has 3"):
        clf.fit(of(0, 1))
    with pytest.raises(ValueError, match="Row 2 has no vector of features"):
        clf.fit(of(0, 2))
    with pytest.raises(ValueError, match="The column 'label' has rows without a label"):
        clf.fit(of(0, 3))
    assert clf.fit(vectors).estimator.n_seen_ == 900  # the session goes on


def test_the_command_without_a_cluster(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.svm", "\n".join(lines()) + "\n")
    command = ("train", path, "--algorithm", "pa", "--model", tmp_path / "m", "--engine", "spark", "--master")
    assert "There is no master of Spark at spark://127.0.0.1:9: " in fail(1, *command, "spark://127.0.0.1:9")
    assert "There is no master of Spark at nothing: Master must " in fail(1, *command, "nothing")
    environment = {**os.environ, "PATH": "/nowhere"}
    environment.pop("JAVA_HOME", None)
    assert "Spark needs Java 17 or newer" in fail(1, *command, "local[2]", env=environment)


def test_killed_executors_change_no_bit(tmp_path: Path) -> None:
    """A cluster whose executors are processes of Java: all of them are killed after the first round."""
    path = write(tmp_path / "rows.svm", "\n".join(lines(20_000)) + "\n")
    sureline.scale.train(path, "pa", C=1.0, model=tmp_path / "alone", shard_size=20_000, rounds=6)
    command = ("train", path, "--algorithm", "pa", "--C", 1, "--shard-size", 20_000, "--rounds", 6)
    where = ("--engine", "spark", "--master", "local-cluster[2,1,1024]", "--model", tmp_path / "m", "--quiet")
    driver = subprocess.Popen([*SURELINE, *map(str, command), *map(str, where)], stderr=subprocess.PIPE, cwd=tmp_path)
    killed = 0
    while driver.poll() is None:
        if not killed and (tmp_path / "m.checkpoint").exists():
            for pid, words in descendants(driver.pid).items():
                if "CoarseGrainedExecutorBackend" in words:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        time.sleep(0.01)
    assert driver.returncode == 0, driver.communicate()
    assert killed >= 2
    assert checksum(tmp_path / "m") == checksum(tmp_path / "alone")


LOST = "java.lang.IllegalStateException: Python daemon failed to launch worker."


@pytest.mark.parametrize(("said", "runs"), [(LOST, 2), ("java.lang.OutOfMemoryError: Java heap space", 1)])
def test_what_a_lost_worker_breaks_is_run_again(session: Any, said: str, runs: int) -> None:
    told: list[str] = []

    def action() -> str:
        told.append(said)
        if len(told) == 1:
            raise Exception(f"Job aborted due to stage failure: {said}")
        return "done"

    try:
        assert SparkEngine(session).tried(action) == "done"
    except Exception as error:
        assert said in str(error)
    assert len(told) == runs
