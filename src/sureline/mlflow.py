"""A flavor of MLflow that stores the model file. Loading runs no code.

    import mlflow
    import sureline.mlflow

    with mlflow.start_run():
        info = sureline.mlflow.log_model(clf, name="mail")
    clf = sureline.mlflow.load_model(info.model_uri)

Install with ``pip install 'sureline[mlflow]'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from mlflow import pyfunc
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model, infer_signature
    from mlflow.models.model import ModelInfo
    from mlflow.models.utils import _save_example
except ImportError:
    raise ImportError("sureline.mlflow needs MLflow: pip install 'sureline[mlflow]'.") from None

from . import __version__
from .estimators.saving import Estimator, load, save

if TYPE_CHECKING:
    from mlflow.models import ModelSignature

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR_NAME = "sureline"
FILE = "model.sureline"


def save_model(
    model: Estimator,
    path: str | Path,
    mlflow_model: Model | None = None,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model into a new folder, in MLflow's format.

    Parameters
    ----------
    model : estimator of sureline
    path : str or Path
        The folder. It must be new, or empty.
    mlflow_model : mlflow.models.Model, default=None
        The one that this flavor is added to.
    signature : mlflow.models.ModelSignature, default=None
        If None, that of the `input_example` and its predictions.
    input_example : data frame or array, default=None
    metadata : dict, default=None
    """
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists already; a model of MLflow needs a folder of its own.")
    folder.mkdir(parents=True, exist_ok=True)
    save(model, folder / FILE)
    mlflow_model = Model() if mlflow_model is None else mlflow_model
    _save_example(mlflow_model, input_example, str(folder))
    if signature is None and input_example is not None:
        signature = infer_signature(input_example, _Predictor(model).predict(input_example))
    if signature is not None:
        mlflow_model.signature = signature
    if metadata is not None:
        mlflow_model.metadata = metadata
    (folder / "requirements.txt").write_text(f"sureline[mlflow]=={__version__}\n")
    mlflow_model.add_flavor(FLAVOR_NAME, sureline_version=__version__, data=FILE)
    pyfunc.add_to_model(mlflow_model, loader_module="sureline.mlflow", data=FILE)
    mlflow_model.save(str(folder / "MLmodel"))


def log_model(model: Estimator, name: str, **options: Any) -> ModelInfo:
    """Log a fitted model to MLflow.

    Parameters
    ----------
    model : estimator of sureline
    name : str
        Of the model in MLflow.
    **options
        `signature`, `input_example` and `metadata` as for `save_model`, and what ``mlflow.models.Model.log`` takes,
        such as `registered_model_name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its `model_uri` is for `load_model`.
    """
    import sureline.mlflow as flavor

    info: ModelInfo = Model.log(artifact_path=None, name=name, flavor=flavor, model=model, **options)
    return info


def load_model(model_uri: str, dst_path: str | None = None) -> Estimator:
    """The estimator that was saved or logged.

    No code is run, whatever is in the file; one that was changed or damaged is refused with
    sureline.modelfile.ModelFileError.
    """
    folder = Path(download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(f"{model_uri} has no model of sureline; it has {', '.join(flavors) or 'none'}.")
    return load(folder / FILE)


def _load_pyfunc(path: str) -> _Predictor:
    """Load a model file by its path; MLflow calls this."""
    return _Predictor(load(path))


class _Predictor:
    """A model as MLflow's pyfunc has it."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, data: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Labels of the rows of a data frame, array or CSR matrix, of a dict of features, or of a list of dicts."""
        if isinstance(data, dict):
            return [self._model.predict_one(data)]
        if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
            return [self._model.predict_one(row) for row in data]
        return self._model.predict(data)
