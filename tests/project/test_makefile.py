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
    for name in ("Makefile", "pyproject.toml", "setup.py", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, tree)
    for project in (ROOT / "extras").glob("*/pyproject.toml"):
        shutil.copytree(project.parent, tree / project.parent.relative_to(ROOT))
    return tree


def pretend(tree: Path, module: str, text: str, names: list[str]) -> Path:
    """Put interpreters in front of the path that import `module` as given."""
    (tree / "shadow").mkdir()
    (tree / "shadow" / f"{module}.py").write_text(text)
    (tree / "bin").mkdir()
    for name in names:
        script = tree / "bin" / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{tree}/shadow" exec "{sys.executable}" "$@"\n')
        script.chmod(0o755)
    return tree / "bin"


def make(tree: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run make there, free of the settings of a make above."""
    inherited = ("PYTHON", "MAKE", "MFLAGS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(inherited)}
    environment["PATH"] = os.pathsep.join([*([str(path)] if path else []), os.environ["PATH"]])
    return subprocess.run(["make", *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False)


def complaint(result: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed make prints besides its own."""
    assert result.returncode != 0
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith(("make:", "make["))]
    return line


def test_a_python_without_venv_is_named_with_what_to_install(copy: Path) -> None:
    result = make(copy, "test", path=pretend(copy, "ensurepip", WITHOUT_VENV, NAMES))
    assert "install python3-venv" in complaint(result)
    assert not (copy / ".venv").exists()


def test_a_python_that_is_too_old_is_named(copy: Path) -> None:
    result = make(copy, "demo", path=pretend(copy, "sitecustomize", TOO_OLD, NAMES))
    assert "Python 3.11 or newer is needed" in complaint(result)


def test_make_alone_lists_the_targets(copy: Path) -> None:
    result = make(copy)
    listed = [line.split()[0] for line in result.stdout.splitlines()]
    tests = ["test", "test-all", "test-newest"]
    assert listed == ["help", "demo", *tests, "check", "format", "docs", "bench", "lock", "clean"]
    assert result.stderr == ""
