"""Train and predict on Spark: shards are tasks, and the result has the bits of any other engine.

    from pyspark.sql import SparkSession
    import sureline.spark

    session = SparkSession.builder.getOrCreate()
    clf = sureline.spark.train("logs/*.svm.zst", "arow")
    model = sureline.spark.Classifier(algorithm="arow", featuresCol="features", labelCol="label").fit(frame)

Workers need sureline and the files. Install with ``pip install 'sureline[spark]'``, and Java 17 or newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from pyspark import keyword_only
    from pyspark.ml import Estimator as SparkEstimator
    from pyspark.ml import Model as SparkModel
    from pyspark.ml.functions import array_to_vector
    from pyspark.ml.linalg import VectorUDT
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasProbabilityCol, HasWeightCol
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType
except ImportError:
    raise ImportError("sureline.spark needs pyspark: pip install 'sureline[spark]'.") from None

from . import scale
from .learners.saving import learner_bytes
from .scale import Progress
from .scale.on_spark import SHARD_ROWS, SparkEngine, connected, stretches
from .scale.partitions import Rows, Table, train_held
from .scale.vectors import rows_of_vectors

if TYPE_CHECKING:
    from .estimators.saving import Estimator

__all__ = ["SHARD_ROWS", "Classifier", "ClassifierModel", "SparkEngine", "connected", "predict", "train"]

_PIECE = 64 << 20  # bytes of a model per row that is written


def train(
    data: Any,
    algorithm: str | Estimator,
    *,
    session: Any = None,
    shard_rows: int = SHARD_ROWS,
    labels: Sequence[Any] | None = None,
    rounds: int = 1,
    passes: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train on a Spark cluster.

    Parameters
    ----------
    data : path, glob, URL, list of them, sureline.stream.Stream, or pyspark.sql.DataFrame
        A DataFrame is a table with a column of labels (``label="label"``, and other options of reading). Of columns of
        vectors `Classifier` learns.
    algorithm : str or estimator
    session : pyspark.sql.SparkSession, default=None
        None for the current one, or else what ``SparkSession.builder.getOrCreate()`` finds or starts.
    shard_rows : int, default=250,000
        Rows of a shard of a DataFrame, in the order of its rows. How many partitions it has does not matter.
    labels, rounds, passes, on_progress
        As for `sureline.scale.train`.
    **options
        As for `sureline.scale.train`: `model`, `metric`, parameters of the algorithm, and options of reading; for files
        also `shard_size`, `checkpoint` and `resume`.

    Returns
    -------
    estimator
        The trained estimator.
    """
    how: dict[str, Any] = {"labels": labels, "rounds": rounds, "passes": passes, "on_progress": on_progress, **options}
    if isinstance(data, DataFrame):
        with stretches(data, Table.of, shard_rows) as found:
            return train_held(found.held, algorithm, found.engine, lengths=found.lengths, **how)
    if shard_rows != SHARD_ROWS:
        raise ValueError("shard_rows is for DataFrames: shards of files have a shard_size.")
    return scale.train(data, algorithm, engine=SparkEngine(session or SparkSession.builder.getOrCreate()), **how)


def predict(model: Estimator, data: Any, *, probabilities: bool = False) -> Any:
    """Labels of the rows of a DataFrame, with `probabilities` also those of each class: a lazy DataFrame.

    Its columns are `label`, and with `probabilities` one for each class, such as `probability of spam`.
    """
    names = [f"probability of {label}" for label in model.classes_.tolist()] if probabilities else []
    answers = partial(_table_answers, data.sparkSession.sparkContext.broadcast(learner_bytes(model)), names)
    types = [f"label {_type_of(model)}", *(f"`{name}` double" for name in names)]
    return data.mapInArrow(answers, ", ".join(types))


def _type_of(model: Estimator) -> str:
    return "string" if model.classes_.dtype.kind in "UO" else "double"


def _table_answers(held: Any, names: Sequence[str], batches: Iterable[Any]) -> Iterable[Any]:
    import pyarrow as pa

    model = _loaded(held)
    for batch in batches:
        if batch.num_rows:
            table = pa.Table.from_batches([batch])
            columns = [_labels(model.predict(table))]
            if names:
                columns += map(pa.array, model.predict_proba(table).T)
            yield pa.RecordBatch.from_arrays(columns, ["label", *names])


def _labels(found: Any) -> Any:
    import pyarrow as pa

    text = found.dtype.kind in "UO"
    return pa.array(found.tolist(), pa.string()) if text else pa.array(found.astype(np.float64))


@lru_cache(maxsize=8)
def _loaded(held: Any) -> Any:
    """The estimator of a broadcast, made once in each worker."""
    return scale.driver.estimator(held.value)


# -- a stage of a Pipeline --------------------------------------------------------------------------------------------


class _Columns(HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol, HasProbabilityCol):  # type: ignore[misc]
    """The parameters that an estimator and its model share."""

    confidenceCol = Param(
        Params._dummy(), "confidenceCol", "probability that the prediction is right", TypeConverters.toString
    )


class Classifier(SparkEstimator, _Columns, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """An estimator of pyspark.ml, for a Pipeline or a CrossValidator.

    Rows are cut into shards in their order. The model depends on the rows, their order and `shardRows`. It does not
    depend on partitions and workers.

    Parameters
    ----------
    algorithm : str, default="arow"
    parameters : dict, default={}
        Parameters of the algorithm, such as ``{"r": 1.0}``. Without any, settings are tried on the first 20,000 rows.
    featuresCol : str, default="features"
        Column of vectors.
    labelCol : str, default="label"
        Column of numbers or strings. The predictions are of the same kind: double or string.
    weightCol : str, default=None
        Column of what each row counts.
    predictionCol, probabilityCol, confidenceCol : str, default="prediction", "probability", "confidence"
        Columns that the model adds: the label, the probability of each class in the order of the labels, and the
        probability that the prediction is right. A column with the name "" is left out.
    shardRows : int, default=250,000
        Rows of a shard.
    rounds, passes : int, default=1
        As for `train`.
    """

    algorithm = Param(Params._dummy(), "algorithm", "name of a learner", TypeConverters.toString)
    parameters = Param(Params._dummy(), "parameters", "parameters of the learner", TypeConverters.identity)
    shardRows = Param(Params._dummy(), "shardRows", "rows of a shard", TypeConverters.toInt)
    rounds = Param(Params._dummy(), "rounds", "how often a pass merges its shards", TypeConverters.toInt)
    passes = Param(Params._dummy(), "passes", "passes over the rows", TypeConverters.toInt)

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        algorithm: str = "arow",
        parameters: dict[str, Any] | None = None,
        featuresCol: str = "features",
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        confidenceCol: str = "confidence",
        shardRows: int = SHARD_ROWS,
        rounds: int = 1,
        passes: int = 1,
    ) -> None:
        super().__init__()
        self._setDefault(
            **{"algorithm": "arow", "parameters": {}, "confidenceCol": "confidence"},
            **{"shardRows": SHARD_ROWS, "rounds": 1, "passes": 1},
        )
        self.setParams(**self._input_kwargs)

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **parameters: Any) -> Classifier:
        """Set several parameters by name."""
        known: Classifier = self._set(**self._input_kwargs)
        return known

    def _fit(self, dataset: Any) -> ClassifierModel:
        rounds, passes, size = (self.getOrDefault(name) for name in ("rounds", "passes", "shardRows"))
        with stretches(_columns(self, dataset), _vectors, size, "label") as found:
            estimator = train_held(
                found.held,
                self.getOrDefault("algorithm"),
                found.engine,
                lengths=found.lengths,
                labels=found.labels,
                rounds=rounds,
                passes=passes,
                **self.getOrDefault("parameters"),
            )
        fitted: ClassifierModel = self._copyValues(ClassifierModel(learner_bytes(estimator)))
        fitted._resetUid(self.uid)
        return fitted


def _columns(stage: Classifier, dataset: Any) -> Any:
    """The columns of a DataFrame to learn from: features, label, and weight if there is one."""
    types = {field.name: field.dataType for field in dataset.schema}
    features, label = stage.getFeaturesCol(), stage.getLabelCol()
    _check_vectors(features, types)
    weight = stage.getWeightCol() if stage.isSet("weightCol") else None
    for name, param in ((label, "labelCol"), *([(weight, "weightCol")] if weight else [])):
        if name not in types:
            raise ValueError(f"{param}: there is no column {name!r}. There are {', '.join(types)}.")
    labels = F.col(label) if isinstance(types[label], StringType) else F.col(label).cast("double")
    columns = [F.unwrap_udt(features).alias("features"), labels.alias("label")]
    if weight:
        columns.append(F.col(weight).cast("double").alias("weight"))
    return dataset.select(*columns)


def _check_vectors(name: str, types: dict[str, Any]) -> None:
    if name not in types:
        raise ValueError(f"featuresCol: there is no column {name!r}. There are {', '.join(types)}.")
    if not isinstance(types[name], VectorUDT):
        raise ValueError(
            f"featuresCol: {name!r} must be a column of vectors, such as VectorAssembler makes. "
            f"It is one of {types[name].simpleString()}."
        )


def _vectors(where: str, table: Any) -> Rows:
    weight = table["weight"].to_numpy() if "weight" in table.column_names else None
    labels = table["label"]
    text = str(labels.type) != "double"
    return Rows.of(where, rows_of_vectors(table["features"]), labels.to_pylist() if text else labels.to_numpy(), weight)


class ClassifierModel(SparkModel, _Columns, MLReadable, MLWritable):  # type: ignore[misc]
    """A trained `Classifier`. It adds the columns of predictions, probabilities and confidences.

    Attributes
    ----------
    estimator : estimator
        The learner itself, for `sureline.save` and whatever else estimators can do.
    """

    def __init__(self, model: bytes | None = None) -> None:
        super().__init__()
        self._setDefault(confidenceCol="confidence")
        self._bytes = model or b""
        self._sent: tuple[Any, Any] | None = None

    @property
    def estimator(self) -> Estimator:
        return scale.driver.estimator(self._bytes)

    def _transform(self, dataset: Any) -> Any:
        types = {field.name: field.dataType for field in dataset.schema}
        _check_vectors(self.getFeaturesCol(), types)
        context = dataset.sparkSession.sparkContext
        if self._sent is None or self._sent[0] is not context:
            self._sent = context, context.broadcast(self._bytes)
        kind = f"prediction {_type_of(self.estimator)}, probability array<double>, confidence double"
        held = self._sent[1]
        answer = F.arrow_udf(lambda vectors: _answers(held, vectors), kind)(F.unwrap_udt(self.getFeaturesCol()))
        found = {
            self.getPredictionCol(): F.col(f"{self.uid}.prediction"),
            self.getProbabilityCol(): array_to_vector(F.col(f"{self.uid}.probability")),
            self.getOrDefault("confidenceCol"): F.col(f"{self.uid}.confidence"),
        }
        if taken := [name for name in found if name in types]:
            raise ValueError(f"The DataFrame has a column {taken[0]!r} already. Drop it, or name another.")
        added = [column.alias(name) for name, column in found.items() if name]
        return dataset.withColumn(self.uid, answer).select(*dataset.columns, *added)

    def write(self) -> MLWriter:
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return _Reader()


def _answers(held: Any, vectors: Any) -> Any:
    import pyarrow as pa

    model, rows = _loaded(held), rows_of_vectors(vectors)
    sure = np.ascontiguousarray(model.predict_proba(rows))
    offsets = np.arange(0, sure.size + 1, sure.shape[1], dtype=np.int32)
    probabilities = pa.ListArray.from_arrays(pa.array(offsets), pa.array(sure.ravel()))
    answers = [_labels(model.predict(rows)), probabilities, pa.array(model.confidence(rows))]
    return pa.StructArray.from_arrays(answers, ["prediction", "probability", "confidence"])


class _Writer(MLWriter):  # type: ignore[misc]
    """Metadata as pyspark.ml has them, and the bytes of the model in rows of a Parquet file."""

    def __init__(self, model: ClassifierModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession)
        data = self._model._bytes
        pieces = [(at, data[at : at + _PIECE]) for at in range(0, len(data), _PIECE)]
        self.sparkSession.createDataFrame(pieces, "at long, bytes binary").coalesce(1).write.parquet(f"{path}/model")


class _Reader(MLReader):  # type: ignore[misc]
    def load(self, path: str) -> ClassifierModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        pieces = self.sparkSession.read.parquet(f"{path}/model").orderBy("at").collect()
        model = ClassifierModel(b"".join(bytes(row.bytes) for row in pieces))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        _ = model.estimator  # refuses a damaged model now
        return model
