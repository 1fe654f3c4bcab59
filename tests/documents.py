"""Run the code blocks of Markdown pages, and compare what they print with the block that follows.

- ```python blocks of a page run in one namespace, one after the other.
- A ```text block after one is what it prints. `...` stands for anything.
- In ```console blocks, lines after `$ ` are commands; the lines below are what they print.
- ```sh blocks show commands on files that do not exist here; only the names of commands and options are checked.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^( *)```(\w+)?[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
_CHECK = doctest.OutputChecker()
_NOT_PROSE = re.compile(r"^(?:#|\||---|:::|:\w|<!--|\s{4,}\S)")  # headings, tables, directives, literal blocks
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) (?:\[ \] )?")
_END = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[(\"*`]*[A-Z0-9`])")


@dataclass(frozen=True)
class Block:
    """A fenced block, with the line that it starts at."""

    language: str
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent, language, body = match[1], match[2] or "", match[3]
        body = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        found.append(Block(language, body, text.count("\n", 0, match.start()) + 1))
    return found


def sentences_of(text: str) -> list[str]:
    """The sentences of a page's paragraphs and list items. Code, tables and headings are left out; `code` is a word."""
    text = _FENCE.sub("\n", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|<[^>\n]+>", lambda match: match[1] or "", text)  # links by their words
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item or not line.strip() or (not paragraphs[-1] and _NOT_PROSE.match(line)):
            paragraphs.append([])
        if line.strip() and (paragraphs[-1] or item or not _NOT_PROSE.match(line)):
            paragraphs[-1].append(_ITEM.sub("", line).strip())
    joined = [re.sub(r"`[^`]*`", "`code`", " ".join(lines)) for lines in paragraphs]
    return [sentence for paragraph in joined for sentence in _END.split(paragraph) if re.search(r"\w", sentence)]


def words_in(sentence: str) -> int:
    return len(re.findall(r"\S*\w\S*", sentence))


def _compare(wanted: str, printed: str, where: str) -> None:
    if not _CHECK.check_output(wanted, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
        raise AssertionError(f"{where} says\n{wanted}\nand it prints\n{printed}")


def run_page(page: Path, folder: Path) -> int:
    """Run all blocks of a page in `folder`; return how many ran. AssertionError where a page is wrong."""
    blocks, namespace, done = blocks_of(page), {"__name__": "page"}, 0
    with contextlib.chdir(folder):
        for block, following in zip(blocks, [*blocks[1:], None], strict=False):
            where = f"{page.name}:{block.line}"
            if block.language == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block.text, where, "exec", dont_inherit=True), namespace)
                if following is not None and following.language == "text":
                    _compare(following.text, printed.getvalue(), where)
            elif block.language == "console" and "$ " in block.text:
                for command in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                    line, _, wanted = command.partition("\n")
                    _compare(wanted, _printed_by(line, where), f"{where}, {line}")
            else:
                continue
            done += 1
    return done


def _printed_by(line: str, where: str) -> str:
    words = shlex.split(line)
    if words[0] == "sureline":
        words[:1] = [sys.executable, "-m", "sureline"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, f"{where}: {line} failed: {ran.stderr}"
    return ran.stdout
