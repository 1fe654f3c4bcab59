"""Code, links and commands in the documents; examples in docstrings; the demo."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import documents
import pytest
from catalogue import ALL

import sureline
import sureline.cli
from sureline import L1SVM, SDCA, KernelSCW, SparseDCA, demo

ROOT = Path(__file__).parent.parent


PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.relative_to(ROOT / "docs").parts[0] not in ("results", "_build", "gallery", "reference")
    ),
]
WITH_LINKS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not {"_build", "gallery", "generated"} & {*page.parts} and page.name != "api.md"
    ),
]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that `make demo` leaves."""
    folder = tmp_path_factory.mktemp("mail")
    demo.write_mail(folder, 60_000)
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if documents.blocks_of(page)], ids=name_of)
def test_the_code_of_a_page_prints_what_the_page_says(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if "out/demo" in page.read_text(encoding="utf-8"):
        (tmp_path / "out").mkdir()
        (tmp_path / "out/demo").symlink_to(request.getfixturevalue("mail"))
    ran = documents.run_page(page, tmp_path)
    code = [block for block in documents.blocks_of(page) if block.language == "python"]
    assert ran >= len(code)


def options_in_shell_blocks() -> list[tuple[str, str, str]]:
    """Page, command and option, for every option of a `sureline` command in a shell block."""
    found = []
    for page in PAGES:
        for block in documents.blocks_of(page):
            if block.language != "sh":
                continue
            for line in block.text.replace("\\\n", " ").splitlines():
                for command in re.findall(r"(?:^|\| *)sureline ([^|]*)", line):
                    name, *words = shlex.split(command, comments=True)
                    options = [word.partition("=")[0] for word in words if word.startswith("--")]
                    found += [(name_of(page), name, option) for option in options or [""]]
    return sorted({*found})


@pytest.mark.parametrize(("page", "name", "option"), options_in_shell_blocks())
def test_commands_and_options_that_pages_name_exist(page: str, name: str, option: str) -> None:
    context = click.Context(sureline.cli.sureline)
    command = sureline.cli.sureline.get_command(context, name)
    assert command is not None, f"{page} names a command {name}"
    known = {
        spelling
        for parameter in command.get_params(context)
        for spelling in (*parameter.opts, *parameter.secondary_opts)
    }
    assert option in known | {""}


@pytest.mark.parametrize("page", WITH_LINKS, ids=name_of)
def test_relative_links_point_to_files(page: Path) -> None:
    text = re.sub(r"^( *)```.*?^\1```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img [^>]*src="([^"]+)"', text)
    missing = [
        target
        for target in targets
        if "://" not in target
        and not target.startswith(("#", "mailto:"))
        and not (page.parent / target.partition("#")[0]).exists()
        and target != "api.md"  # `make docs` writes it
    ]
    assert missing == []


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/development").glob("*.md"))], ids=name_of
)
def test_files_that_the_pages_for_contributors_name_exist(page: Path) -> None:
    named = re.findall(r"`([\w./-]+\.(?:py|hpp|cpp|md|toml))`", page.read_text(encoding="utf-8"))
    homes = [ROOT, *(ROOT / "src" / name for name in ("sureline", "sureline/reference", "sureline/learners"))]
    homes += [*(ROOT / "src/core" / name for name in (".", "rules"))]
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert [name for name in missing if "NAME" not in name] == []


def test_every_promise_names_a_test_that_exists() -> None:
    text = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 30
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no {test}"
    for row in re.findall(r"^\| [A-Z`].*$", text, re.MULTILINE):
        assert "::test_" in row, f"a promise without a test: {row}"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_sentences_are_told_from_tables_code_and_each_other() -> None:
    text = "# Title\n\nOne *two* `a b` [three](x.md).\nNext (it is so). Last\nline\n\n| a | b |\n"
    text += "\n- Item one. Two\n  go on: 1.5 e.g. x\n\n    code block. Not prose.\n\n```python\nx. Y\n```\n"
    found = documents.sentences_of(text)
    assert found == ["One *two* `code` three.", "Next (it is so).", "Last line", "Item one.", "Two go on: 1.5 e.g. x"]
    assert [documents.words_in(sentence) for sentence in found] == [4, 4, 2, 2, 6]


@pytest.mark.parametrize("page", WITH_LINKS, ids=name_of)
def test_sentences_of_a_page_are_short(page: Path) -> None:
    """Mean of at most 16 words, and none of more than 40. Pages of results too, whose words come from their runs."""
    sentences = documents.sentences_of(page.read_text(encoding="utf-8"))
    words = [documents.words_in(sentence) for sentence in sentences]
    assert [sentence for sentence, n in zip(sentences, words, strict=True) if n > 40] == []
    assert sum(words) <= 16 * len(words)


def test_the_page_of_learners_lists_every_learner() -> None:
    text = (ROOT / "docs/learners.md").read_text(encoding="utf-8")
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


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("plot_*.py")), ids=name_of)
def test_every_example_of_the_gallery_shows_a_chart(example: Path) -> None:
    """`docs/site_extension.py` shows what a block calls `chart`, and nothing else."""
    text = example.read_text(encoding="utf-8")
    assert re.search(r"^chart = ", text, re.MULTILINE)
    assert "description=" in text


def test_docstrings_begin_with_what_a_thing_is_or_does() -> None:
    opening = re.compile(r'"""(What|Where|Whoever|Nobody|Whether) .*')
    sources = Path(sureline.__file__).parent.rglob("*.py")
    assert [match[0] for file in sources for match in opening.finditer(file.read_text(encoding="utf-8"))] == []


def test_the_reference_has_every_method_for_users() -> None:
    """The page of an estimator lists what the template names."""
    template = (ROOT / "docs/_templates/autosummary/class.rst").read_text(encoding="utf-8")
    listed = {*re.findall(r'"(\w+)"', template), "get_metadata_routing", "fit_transform", "selected_columns"}
    for name in ("AROW", "SBCW", "AROWRegressor", "SSOL", "Auto"):
        kind = getattr(sureline, name)
        methods = {method for method in dir(kind()) if method[0] != "_" and callable(getattr(kind, method, None))}
        assert {method for method in methods if not re.fullmatch("set_(\\w+_request|output)", method)} <= listed, name


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
    assert "$ sureline serve" in printed
    assert re.search(r"answered 100 mails, \d\d of them right, and learned 10 labels: version \w+\.10\.", printed)
    photographed = "Its page, as Chromium shows it: " in printed
    assert photographed or "There is no Chromium here" in printed
    for picture in ("ssol.png", "scw.png", *(["page.png"] if photographed else [])):
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
