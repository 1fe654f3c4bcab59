"""Sentences written by hand on the pages of results quote numbers and verdicts. They are those of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"
BY_HAND = "## Where we differ and why"
VERDICT = re.compile(r"^- \*\*(holds|does not hold|cannot be told)\*\*: (.*(?:\n  - .*)*)$", re.MULTILINE)

# Numbers of a side experiment that stands on no page, or that follow from two of the page: where each is from.
FROM_ELSEWHERE: dict[str, dict[str, str]] = {
    "sbcw-figure1.md": dict.fromkeys(("1.4", "9.2", "3.1"), "the quotient of two times"),
    "scw-table3.md": {"16.1": "columns scaled to [-1, 1]", "0.238": "eta = 0.5, which predicts one class"},
    "sol-figure2.md": {"9.2": "rows of unit length"},
    "sol-figure4.md": {"2.1": "74.3 less 72.2"},
}
# "N of M" that counts something else than what a verdict counts.
NO_VERDICT = {
    "sbcw-figure1.md": {"216 of 400"},
    "sbcw-table2.md": {"2 of 10"},
    "sol-figure1.md": {"8 of 10"},
    "sol-table2.md": {"96 of 100", "1943 of 1946"},
}


def parts_of(page: Path) -> tuple[str, str]:
    """The generated text of a page and of pages it links to, and the part written by hand."""
    made, _, prose = page.read_text().partition(BY_HAND)
    linked = [RESULTS / name for name in sorted(set(re.findall(r"\]\(([\w.-]+\.md)\)", prose)))]
    return made + "".join(other.read_text() for other in linked if other.exists()), prose


def quoted(prose: str) -> list[str]:
    return re.findall(r"(?<![\w.^/-])\d+\.\d+(?!\w|\.\d)", prose)


def sentences(prose: str) -> list[str]:
    return re.split(r"(?<=[.:])\s+(?=[A-Z*])", prose.replace("\n", " "))


def numbers_on(made: str) -> set[float]:
    found = {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", made.replace(",", ""))}
    return found | {100 * number for number in found if number <= 1}  # shares as percentages


def strange_numbers(page: str, made: str, prose: str) -> list[str]:
    """Decimal numbers of the prose that are, rounded, nowhere in the generated text."""
    known = numbers_on(made)

    def stands(number: str) -> bool:
        digits = len(number.partition(".")[2])
        return any(abs(round(value, digits) - float(number)) < 1e-9 for value in known)

    return [number for number in quoted(prose) if not stands(number) and number not in FROM_ELSEWHERE.get(page, {})]


def verdicts_of(made: str) -> list[tuple[str, str, str]]:
    """Each verdict: its outcome, its data, and its whole text."""
    found = []
    for holds, said in VERDICT.findall(made):
        data = said.partition(":")[0].replace(" (stand-in)", "")
        found.append((holds, data, said))
    return found


def strange_counts(page: str, made: str, prose: str) -> list[str]:
    """Phrases "N of M" that no verdict has; if the sentence names data, no verdict on these."""
    verdicts, wrong = verdicts_of(made), []
    for sentence in sentences(prose):
        named = {data for _, data, _ in verdicts if re.search(rf"\b{re.escape(data)}\b", sentence)}
        for n, m, orders in re.findall(r"\b([\d,]+) of ([\d,]+)\b( orders)?", sentence):
            phrase = f"{n} of {m}".replace(",", "")
            exact = re.compile(rf"\b{phrase} orders" if orders else rf"\b{phrase}\b(?! orders)")
            said = [text for _, data, text in verdicts if not named or data in named]
            if not any(map(exact.search, said)) and phrase not in NO_VERDICT.get(page, set()):
                wrong.append(phrase)
    return wrong


def strange_generalities(made: str, prose: str) -> list[str]:
    """Sentences about each of several learners that contradict the verdict."""
    verdicts, wrong = verdicts_of(made), []
    for sentence in sentences(prose):
        if not re.search(r"\beach of the (two|three|four|five|six)\b", sentence) or "not" in sentence.split():
            continue
        every = {data: holds for holds, data, said in verdicts if re.search(r"\bevery\b", said)}
        named = [holds for data, holds in every.items() if re.search(rf"\b{re.escape(data)}\b", sentence)]
        if not named or set(named) != {"holds"}:
            wrong.append(sentence)
    return wrong


PAGES = [page for page in sorted(RESULTS.glob("*.md")) if BY_HAND in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_written_by_hand_is_what_was_found(page: Path) -> None:
    made, prose = parts_of(page)
    assert strange_numbers(page.name, made, prose) == []
    assert strange_counts(page.name, made, prose) == []
    assert strange_generalities(made, prose) == []


def test_no_exception_is_left_over() -> None:
    for exceptions in (FROM_ELSEWHERE, NO_VERDICT):
        for name, some in exceptions.items():
            prose = parts_of(RESULTS / name)[1].replace(",", "")
            assert [one for one in some if one not in prose] == [], name


def test_other_numbers_and_other_verdicts_are_found() -> None:
    """The claims that were once beyond their verdicts."""
    made, prose = parts_of(RESULTS / "sol-figure4.md")
    assert strange_counts("x", made, "On w8a that is true of 5 of 5.") == ["5 of 5"]
    assert strange_counts("x", made, "On w8a that can be told of 4 of 5.") == []
    beyond = "On w8a each of the five cost-sensitive learners is better, beyond doubt."
    assert strange_generalities(made, beyond) == [beyond]
    assert strange_generalities(made, "On news20 each of the five is better.") == []
    assert strange_numbers("x", made, "CPA is ahead with 123.4.") == ["123.4"]
    assert strange_numbers("x", made, "CPA has 74.3 and 80.8.") == []
    assert quoted(prose)
    made, _ = parts_of(RESULTS / "sol-figure5.md")
    assert strange_counts("x", made, "On WEBSPAM2 four of five: 4 of 5.") == ["4 of 5"]
