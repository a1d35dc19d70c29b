"""What `make` says on a machine that lacks something."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3"]
WITHOUT_VENV = "raise ModuleNotFoundError('ensurepip')\n"
TOO_OLD = "import sys\nsys.version_info = (3, 10, 9)\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that `make` needs, in a folder with a space in its name."""
    tree = tmp_path / "a copy"
    shutil.copytree(ROOT / ".ci", tree / ".ci")
    for name in (
        "Makefile",
        "pyproject.toml",
        "setup.py",
        "requirements.lock",
        "requirements-dev.lock",
    ):
        shutil.copy(ROOT / name, tree)
    for project in (ROOT / "extras").glob("*/pyproject.toml"):
        shutil.copytree(project.parent, tree / project.parent.relative_to(ROOT))
    return tree


def make(tree: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run make there, free of the settings of a make above."""
    inherited = ("PYTHON", "MAKE", "MFLAGS")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(inherited)
    }
    environment["PATH"] = os.pathsep.join([*([str(path)] if path else []), os.environ["PATH"]])
    return subprocess.run(
        ["make", *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("target", "module", "text", "words"),
    [
        ("test", "ensurepip", WITHOUT_VENV, "install python3-venv"),
        ("demo", "sitecustomize", TOO_OLD, "Python 3.11 or newer is needed"),
    ],
)
def test_a_python_that_cannot_be_used_is_named_with_what_to_install(
    copy: Path, target: str, module: str, text: str, words: str
) -> None:
    # Interpreters in front of the path that import `module` as given.
    for folder in ("shadow", "bin"):
        (copy / folder).mkdir()
    (copy / "shadow" / f"{module}.py").write_text(text)
    for name in NAMES:
        script = copy / "bin" / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{copy}/shadow" exec "{sys.executable}" "$@"\n')
        script.chmod(0o755)
    result = make(copy, target, path=copy / "bin")
    [line] = [
        line for line in result.stderr.splitlines() if not line.startswith(("make:", "make["))
    ]
    assert result.returncode != 0 and words in line
    assert not (copy / ".venv").exists()


def test_make_alone_lists_the_targets(copy: Path) -> None:
    result = make(copy)
    listed = [line.split()[0] for line in result.stdout.splitlines()]
    tests = ["test", "test-all", "test-newest"]
    rest = ["check", "format", "docs", "bench", "lock", "clean"]
    assert listed == ["help", "demo", "install", *tests, *rest]
    assert result.stderr == ""


PIP = """#!/bin/sh
case "$*" in
    *"pip install --disable-pip-version-check"*)
        echo "$*" >>"{log}"
        echo "Collecting something==1.0"
        echo "Installing collected packages: something"
        ;;
    *) exec "{python}" "$@" ;;
esac
"""
"""An interpreter that records what pip is asked to install."""


@pytest.fixture
def installed(copy: Path) -> Path:
    """The log of the calls of pip in a copy of the project that has a .venv."""
    log = copy / "installed.txt"
    (copy / ".venv" / "bin").mkdir(parents=True)
    (copy / ".venv" / "bin" / "activate").write_text(f'VIRTUAL_ENV="{copy}/.venv"\n')
    python = copy / ".venv" / "bin" / "python"
    python.write_text(PIP.format(log=log, python=sys.executable))
    python.chmod(0o755)
    return log


def asked(log: Path) -> list[str]:
    """What pip was asked to install since the last time."""
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [line.partition("--progress-bar off ")[2] for line in lines]


LOCK = "--require-hashes --no-deps -r requirements.lock"
OURS = "--no-build-isolation --no-deps --editable ."


def test_an_installation_says_each_step_and_is_made_once(copy: Path, installed: Path) -> None:
    result = make(copy, "install")
    assert result.stdout.splitlines() == [
        "Installing the packages of requirements.lock into .venv: one or two minutes ...",
        "  all fetched (1); unpacking ...",
        "Installing Deep Research itself ...",
        "  all fetched (1); unpacking ...",
    ]
    assert asked(installed) == [LOCK, OURS]
    assert (make(copy, "install").stdout, asked(installed)) == ("", [])


@pytest.mark.slow
def test_extras_stay_with_the_next_installations(copy: Path, installed: Path) -> None:
    result = make(copy, "install", "EXTRAS=pdf, charts")
    assert "Installing the extras charts,pdf ..." in result.stdout.splitlines()
    extras = copy / ".venv" / "extras"
    assert extras.read_text("utf-8") == "charts,pdf\n"
    assert asked(installed)[:2] == [LOCK, OURS]
    assert (make(copy, "install").stdout, asked(installed)) == ("", [])

    with (copy / "setup.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    result = make(copy, "install", "EXTRAS=browser")
    assert "Installing the extras browser,charts,pdf ..." in result.stdout
    # This interpreter has the packages of all extras.
    assert asked(installed) == [LOCK, OURS]


def test_an_unknown_extra_is_refused_with_those_that_exist(copy: Path) -> None:
    result = make(copy, "install", "EXTRAS=pdf,pfd")
    [line] = [line for line in result.stderr.splitlines() if not line.startswith("make:")]
    assert line.startswith("EXTRAS: there is no extra pfd; choose from browser,")
    assert "ocr" in line and "dev" not in line and not (copy / ".venv").exists()
