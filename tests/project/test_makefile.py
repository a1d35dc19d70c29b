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
    assert listed == ["help", "demo", *tests, "check", "format", "docs", "bench", "lock", "clean"]
    assert result.stderr == ""
