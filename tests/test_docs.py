"""What the documents say is true: the README's example runs, docstrings' examples hold, the demo draws."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import ALL

import sureline
from sureline import L1SVM, SDCA, KernelSCW, SparseDCA, demo

ROOT = Path(__file__).parent.parent


def test_the_examples_of_the_readme_run(capsys, tmp_path: Path, monkeypatch) -> None:
    streamed, dense, small, batches, drifting = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(streamed, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "mistakes of 20000" in printed
    assert "\nspam {'ham': 0.9" in printed
    assert "(" in printed.splitlines()[-1]
    exec(compile(dense, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("6 seen,")
    assert "['ham' 'spam' " in printed or "['spam' 'spam' " in printed
    exec(compile(small, "README.md", "exec"), {})
    nonzeros, sparsity, *_ = capsys.readouterr().out.split()
    assert 0 < int(nonzeros) <= 2000
    assert float(sparsity.rstrip("%")) > 99.9
    exec(compile(batches, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("(54, 54)")
    assert printed[-1].startswith("(3000, 100) (7, 7) 0.9")
    exec(compile(drifting, "README.md", "exec"), {})
    *table, recovery = capsys.readouterr().out.splitlines()
    assert table[0] == "Prequential over 40,000 examples, windows of 2,000, 1 drift"
    assert 0 < int(recovery) < 10_000
    assert (tmp_path / "drift.png").stat().st_size > 10_000


def test_the_readme_lists_every_learner() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in sureline.__all__ if isinstance(getattr(sureline, name), type))


def modules_with_examples() -> list[str]:
    package = Path(sureline.__file__).parent
    files = [file for file in package.rglob("*.py") if ">>> " in file.read_text(encoding="utf-8")]
    names = [".".join(("sureline", *file.relative_to(package).with_suffix("").parts)) for file in files]
    return sorted(name.removesuffix(".__init__") for name in names)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_every_learner_documents_its_parameters() -> None:
    for estimator in [case.make() for case in ALL] + [
        KernelSCW(normalize="none"),
        L1SVM(normalize="none"),
        SDCA(normalize="none"),
        SparseDCA(normalize="none"),
    ]:
        for parameter in estimator.get_params():
            assert f"    {parameter} : " in type(estimator).__doc__
        assert "{" not in type(estimator).__doc__.replace('{"', "")


def test_the_demo(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "new folder" / "demo"
    assert demo.main(["--folder", str(folder), "--messages", "2000"]) == 0
    printed = capsys.readouterr().out
    for word in ("$ sureline train", "$ sureline evaluate", "balanced accuracy", "label,score,confidence"):
        assert word in printed
    assert any(word in printed for word in ("prize", "winner", "free", "cash", "claim"))
    for picture in ("ssol.png", "scw.png"):
        assert (folder / picture).stat().st_size > 10_000


def test_the_demo_says_what_is_wrong_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for arguments, message in [
        (["--messages", "3"], "--messages must be at least 100. Got 3 instead."),
        (["--folder", str(file / "x")], "could not write"),
    ]:
        command = [sys.executable, "-m", "sureline.demo", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode in (1, 2)
        assert message in run.stderr
        assert "Traceback" not in run.stderr
