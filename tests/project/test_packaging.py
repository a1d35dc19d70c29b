"""What is built and installed: exactly the package, from exactly pinned parts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["setuptools"]["packages"]
EXTRAS = [tomllib.loads(path.read_text("utf-8"))["project"] for path in sorted(ROOT.glob("extras/*/pyproject.toml"))]
LOCKS = {name: (ROOT / name).read_text("utf-8") for name in ("requirements.lock", "requirements-dev.lock")}
FLOORS = {
    **{"langgraph": "1.2", "langgraph-checkpoint": "4.3", "langgraph-checkpoint-sqlite": "3.1", "langgraph-sdk": "0.4"},
    **{"langchain-core": "1.7", "langchain-openai": "1.7", "brotli": "1.2.0"},
}
"""The first versions in which the holes are closed that were known when they were chosen."""
NOT_PACKAGES = {"extras", "tests", "notebooks", "docs", "build", "dist"}
BUILD = "import setuptools.build_meta as b, sys; print(getattr(b, 'build_' + sys.argv[1])(sys.argv[2]))"


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def wanted_files() -> set[str]:
    """The package as it should be installed, by the tree."""
    files = {f"deep_research/{name}" for name in ("__init__.py", "state.py", "py.typed", "langgraph.json")}
    for package in PACKAGES[1:]:
        files |= {f"{package.replace('.', '/')}/{path.name}" for path in folder_of(package).glob("*.py")}
    data = [*(ROOT / "prompts").glob("*.md"), *(ROOT / "app" / "exports" / "templates").iterdir()]
    data += (ROOT / "core").glob("*/*/*.toml")
    page = (ROOT / "app" / "server" / "page").iterdir()
    data += (path for path in page if path.suffix in (".html", ".css", ".js", ".svg"))
    return files | {f"deep_research/{path.relative_to(ROOT)}" for path in data}


def build(kind: str, tree: Path, target: Path) -> Path:
    """Build an sdist or a wheel without network and without isolation."""
    script = [sys.executable, "-W", "ignore", "-c", BUILD, kind, str(target)]
    result = subprocess.run(script, cwd=tree, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return target / result.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel from an sdist of a copy of the tree in which strays lie about."""
    place = tmp_path_factory.mktemp("build")
    ignored = shutil.ignore_patterns(".*_cache", ".venv", ".git", ".hypothesis", "__pycache__", "*.egg-info", "build")
    tree = shutil.copytree(ROOT, place / "a tree", symlinks=True, ignore=ignored)
    for stray in ("stray.py", "conftest.py"):
        (tree / stray).write_text("raise SystemExit('not a part of the package')\n")
    with tarfile.open(build("sdist", tree, place)) as sdist:
        sdist.extractall(place / "unpacked", filter="data")
    (unpacked,) = (place / "unpacked").iterdir()
    (unpacked / "stray.py").write_text("raise SystemExit('not a part of the package')\n")
    return build("wheel", unpacked, place)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = {name for name in names if ".dist-info/" in name}
    assert names - metadata == wanted_files()
    assert {name.split("/", 1)[1] for name in metadata} >= {"METADATA", "entry_points.txt", "licenses/LICENSE"}


@pytest.mark.slow
def test_an_installed_wheel_runs_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(tmp_path / "site"), str(wheel)], check=True, capture_output=True)
    program = (
        "import deep_research, deep_research.state, deep_research.prompts; print(deep_research.__file__); "
        "from deep_research.core.evidence.citations.labels import labels; assert labels('de').sources == 'Quellen'"
    )
    script = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, 'site'); {program}"]
    result = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).is_relative_to(tmp_path)
    assert list((tmp_path / "site").glob("deep_research-*.dist-info/entry_points.txt"))


def test_every_folder_of_code_is_listed_as_a_package() -> None:
    found = {path.parent.relative_to(ROOT) for path in ROOT.glob("*/**/__init__.py")}
    listed = {folder_of(package).relative_to(ROOT) for package in PACKAGES[1:]}
    code = {folder for folder in found if folder.parts[0] not in NOT_PACKAGES and not folder.parts[0].startswith(".")}
    assert code == listed


@pytest.mark.fault("R30")
def test_every_dependency_has_a_lower_bound() -> None:
    extras = [text for extra in EXTRAS for text in extra["dependencies"]]
    for text in [*PROJECT["build-system"]["requires"], *requirements(), *extras]:
        operators = {specifier.operator for specifier in Requirement(text).specifier}
        assert operators & {">=", ">", "==", "~="}, text


def requirements(*extras: str) -> list[str]:
    """The declared dependencies, with those of extras."""
    project = PROJECT["project"]
    return [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]


def pins(lock: str) -> dict[str, set[str]]:
    """The locked versions by name."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.mark.fault("R30")
@pytest.mark.parametrize(("lock", "extras"), [("requirements.lock", ()), ("requirements-dev.lock", ("dev",))])
def test_a_lock_pins_what_is_declared(lock: str, extras: tuple[str, ...]) -> None:
    locked = pins(LOCKS[lock])
    beside = [text for extra in EXTRAS for text in extra["dependencies"] if extras and "deep-research" not in text]
    for text in [*requirements(*extras), *PROJECT["dependency-groups"]["build"], *beside]:
        requirement = Requirement(text)
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions and all(requirement.specifier.contains(version) for version in versions), text


@pytest.mark.fault("R30")
@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_a_lock_holds_versions_and_hashes_and_nothing_else(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", lock.strip())
    unusual = [entry for entry in entries if not re.match(r"[\w.-]+==[\w.]+( ; [^\n]*)? \\\n", entry)]
    assert unusual == []
    hashes = [line.strip(" \\") for entry in entries for line in entry.splitlines()[1:]]
    assert [line for line in hashes if not re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line)] == []


@pytest.mark.fault("R21", "R30")
def test_no_lock_holds_a_version_with_known_holes() -> None:
    for lock in LOCKS.values():
        locked = pins(lock)
        assert set(FLOORS) - {"brotli"} <= set(locked)
        below = {
            name: locked[name]
            for name in FLOORS.keys() & locked.keys()
            if min(map(Version, locked[name])) < Version(FLOORS[name])
        }
        assert below == {}


@pytest.mark.fault("R30")
def test_both_locks_agree() -> None:
    small, large = pins(LOCKS["requirements.lock"]), pins(LOCKS["requirements-dev.lock"])
    assert {name: large.get(name) for name in small} == small
