"""The README and the pages of docs/: their scripts run as they stand, their links and commands
exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO

import pytest
from kit.docs import PAGES, ROOT, broken_links, commands, on_server, scripts
from kit.runs import write_documents

HERE = [script for script in scripts() if script not in on_server()]


@pytest.mark.fault("R31")
def test_the_page_on_security_says_what_is_defended_what_is_not_and_where_to_report() -> None:
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    parts = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    assert list(parts) == ["Reporting", "What is defended", "What is not defended"]
    assert "privately" in parts["Reporting"]


def test_links_lead_to_files_and_headings_that_exist() -> None:
    assert broken_links() == []


def test_extras_are_named_as_they_can_be_installed_and_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    assert "deep-research[" not in text
    lists = re.findall(r"EXTRAS=([\w,]+)", text)
    lists += re.findall(r'pip install -e "\.\[([\w,]+)\]"', text)
    named = {name for listed in lists for name in listed.split(",")}
    assert named and named <= set(extras)
    # Without -e, a copy would take the place of the checkout.
    assert 'pip install ".[' not in text


def test_commands_of_the_docs_exist_with_their_options() -> None:
    from deep_research.app.cli import cli

    for page, line in commands():
        words = shlex.split(line, comments=True)
        if "deep-research" not in words:
            continue
        name, *given = words[words.index("deep-research") + 1 :]
        known = {option for parameter in cli.commands[name].params for option in parameter.opts}
        assert {word for word in given if word.startswith("--")} <= known, page


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the scripts print, each as it stands there, one after the other."""
    folder = tmp_path_factory.mktemp("docs")
    write_documents(folder / "documents")
    texts = list[str]()
    for script in HERE:
        out, err = StringIO(), StringIO()
        with chdir(folder), redirect_stdout(out), redirect_stderr(err):
            exec(script.text, {"__name__": "__main__"})
        assert err.getvalue() == ""
        texts.append(out.getvalue())
    return texts


@pytest.mark.parametrize("number", range(len(HERE)))
def test_a_script_of_the_docs_runs_verbatim(number: int, printed: list[str]) -> None:
    assert len(printed) == len(HERE)
    assert "Skerry Light" in printed[number]
    assert " [1]" in printed[number] or "Library(" in HERE[number].text
