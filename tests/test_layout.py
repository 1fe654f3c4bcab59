"""The shape of the code: packages, private names, sizes of files, and every public name and path."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "sureline"

# What could be imported when the modules moved into packages. Nothing of it may go.
PUBLIC = {
    "sureline": """
        ALMA AROW AdaFOBOS AdaRDA Auto BCW CPA CSOGD CW FGM FOBOS FOFS FSOL FTRL IELLIP KernelSCW L1SVM NAROW NHERD ODCA
        ODCARegressor OGD PA PAUM Perceptron RDA ROMMA SBCW SCW SDCA SOFS SOP SSOL STG SparseDCA __version__ contest
        datasets evaluate feature_path load metrics plot_sparsity_paths reference report reproduce rules save
        selection sparsity sparsity_path stream tournament train
    """,
    "sureline.contest": "Run Standing Tournament TournamentResult tournament",
    "sureline.custom": "FirstOrderLearner SecondOrderLearner Step",
    "sureline.datasets": """
        STREAM_SHAPES StreamShape make_correlated_groups make_cover_type make_drift make_epsilon make_mail
        make_rotated_gaussian make_sparse_gaussian make_sparse_stream make_stream_like
    """,
    "sureline.demo": "main write_mail",
    "sureline.estimators": """
        ALMA AROW AdaFOBOS AdaRDA BCW CPA CSOGD CW FOBOS FSOL FTRL IELLIP NAROW NHERD ODCA ODCARegressor OGD PA PAUM
        Perceptron RDA ROMMA SCW SOP SSOL STG
    """,
    "sureline.evaluate": "Calibration Evaluation Prequential RankingCurve Residuals evaluate prequential",
    "sureline.metrics": "Tally balanced_accuracy tally weighted_cost weighted_sum",
    "sureline.mlflow": "load_model log_model save_model",
    "sureline.modelfile": "ModelContents ModelFileError WriteError read_model remove_stale write_model",
    "sureline.reference": """
        ALMA AROW AdaFOBOS AdaRDA BCW CPA CSOGD CW FGM FOBOS FOFS FSOL FTRL IELLIP KernelSCW NAROW NHERD
        Normalization ODCA ODCARegressor OGD PA PAUM Perceptron RDA ROMMA SBCW SCW SDCA SOFS SOP SSOL STG SparseDCA
    """,
    "sureline.report": """
        Axis Badge Bar Bars Cell Chart Code Column Command Fact Facts Folded HeatMap Interval Link MapCell Notice
        Paragraph Picture Pictures Reference Row Section Series Strong Table Verdict page report write_page
        write_report
    """,
    "sureline.reproduce": """
        Cell Column Entry EntryError Findings KINDS Mean Missing Outcome Picture Progress Row Series Step Table
        Verdict data_folder entry names run
    """,
    "sureline.rules": """
        ALMA AROW AdaFOBOS AdaRDA CPA CoordinateRule FOBOS FOFS FSOL FTRL IELLIP NAROW NHERD OGD PA PAUM Perceptron
        RDA ROMMA Round Rule SCW SOP SSOL STG Step
    """,
    "sureline.dask": "DaskEngine Distributed local_client predict train",
    "sureline.ray": "RayEngine connected predict train",
    "sureline.river": "Learner",
    "sureline.scale": "DeltaError Shard learn_shard merge shards_of train",
    "sureline.selection": "FeaturePath PathPoint feature_path jaccard stability",
    "sureline.sparsity": "SparsityPath plot_sparsity_paths sparsity_path",
    "sureline.stream": "Chunk DataError Faults Label Position READING Stream convert from_text read",
    "sureline.training": "Progress Training train",
}


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_where_it_was(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in PUBLIC[module].split() if not hasattr(found, name)] == []


# Beside the packages lie leaves, which all of them import, and modules that users import or start.
LEAVES = {"_atomic", "_inputs", "_native", "_system"}
PUBLIC_MODULES = {
    *("__init__", "__main__", "contest", "custom", "demo"),
    *("metrics", "modelfile", "rules", "selection", "sparsity"),
}
ADAPTERS = {"dask", "mlflow", "ray", "river", "spark"}  # named as the library that each adapts to
PACKAGES = {"cli", "estimators", "evaluate", "learners", "models", "report", "reproduce", "stream", "training"}
SERVICES = {"scale", "serve"}  # packages that nothing else needs: many machines, and a server
ISLANDS = {"datasets", "reference"}


def test_few_modules_lie_beside_the_packages() -> None:
    assert len(LEAVES | PUBLIC_MODULES) <= 14
    assert len(PACKAGES) <= 9
    assert {path.stem for path in PACKAGE.glob("*.py")} == LEAVES | PUBLIC_MODULES | ADAPTERS
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == PACKAGES | SERVICES | ISLANDS


def test_no_file_is_too_long_to_be_read() -> None:
    sources = [path for suffix in ("py", "cpp", "hpp") for path in SOURCE.rglob(f"*.{suffix}")]
    lengths = {str(path.relative_to(SOURCE)): path.read_bytes().count(b"\n") for path in sources}
    assert {path: n for path, n in lengths.items() if n > 400} == {}


# -- private names -------------------------------------------------------------------------------------------


def package_of(path: Path) -> str:
    """The package directly under sureline that a file is in; the file's own name if it is in none."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
FOR_STAGES_OF_SPARK = {"_copyValues", "_dummy", "_input_kwargs", "_resetUid", "_set", "_setDefault"}  # to inherit from


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES


def imported_from(node: ast.ImportFrom, path: Path) -> str | None:
    """The package directly under sureline that a relative import is from; None if it is from the file's own."""
    depth = len(path.relative_to(PACKAGE).parts) - node.level
    if node.level == 0 or depth > 0:
        return None
    return (node.module or "").split(".")[0] or "sureline"


def borrowed(path: Path) -> Iterator[str]:
    """Private names of other packages that a file uses: imports, and attributes of foreign objects.

    An attribute is its own if some class of the same package sets, defines or declares it. The underscore of
    `os._exit` is the standard library's name for a public function.
    """
    tree = ast.parse(path.read_text())
    own = own_names(package_of(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and imported_from(node, path) is not None:
            for alias in node.names:
                leaf_module = not node.module and (PACKAGE / f"{alias.name}.py").exists()
                if is_private(alias.name) and alias.name != "_core" and not leaf_module:
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno} imports {alias.name}"
        elif (
            isinstance(node, ast.Attribute)
            and is_private(node.attr)
            and node.attr not in own | {"_exit"} | FOR_STAGES_OF_SPARK
        ):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} uses .{node.attr}"


_own: dict[str, set[str]] = {}


def own_names(package: str) -> set[str]:
    """The private names that a package (or module at the root) defines anywhere: functions, classes, attributes."""
    if package not in _own:
        folder = PACKAGE / package
        files = list(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{package}.py"]
        names = set()
        for path in files:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                    names.add(node.attr)
        _own[package] = {name for name in names if is_private(name)}
    return _own[package]


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def test_no_package_touches_private_names_of_another() -> None:
    # An estimator is a learner, so that what a learner keeps is its own as well.
    inherits = {"estimators": "learners"}
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        base = inherits.get(package_of(path))
        for finding in borrowed(path):
            if base is None or finding.rpartition(".")[2] not in own_names(base):
                found.append(finding)
    assert found == []
