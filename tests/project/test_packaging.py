"""What is built and installed: exactly the package, from exactly pinned parts."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypeGuard

import pytest
from architecture import Module, read_package
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
OPTIONAL = [name for name in PROJECT["project"]["optional-dependencies"] if name != "dev"]
PACKAGES: list[str] = PROJECT["tool"]["setuptools"]["packages"]
EXTRAS = [
    tomllib.loads(path.read_text("utf-8"))["project"]
    for path in sorted(ROOT.glob("extras/*/pyproject.toml"))
]
LOCKS = {
    name: (ROOT / name).read_text("utf-8")
    for name in ("requirements.lock", "requirements-dev.lock")
}
FLOORS = {
    **{
        "langgraph": "1.2",
        "langgraph-checkpoint": "4.3",
        "langgraph-checkpoint-sqlite": "3.1",
        "langgraph-sdk": "0.4",
    },
    **{"langchain-core": "1.7", "langchain-openai": "1.7", "brotli": "1.2.0"},
}
"""The first versions in which the holes are closed that were known when they were chosen."""
NOT_PACKAGES = {"extras", "tests", "notebooks", "docs", "build", "dist"}
EXTRAS_OF = {
    **{"app.mcp_server": ("mcp", "serve"), "app.server": ("serve",)},
    **{"core.reading._browser_worker": ("browser",), "core.store._postgres": ("postgres",)},
}
"""Modules that are loaded only where an extra is installed; whatever the others import at once is
always installed."""
NON_PUBLIC = {
    *("aiosqlite", "langchain-openai", "langgraph", "langgraph-api", "langgraph-checkpoint"),
    *(
        "langgraph-checkpoint-postgres",
        "langgraph-checkpoint-sqlite",
        "mcp",
        "openai",
        "python-docx",
    ),
}
"""Packages of whose parts we use some that are not public."""
BUILD = (
    "import setuptools.build_meta as b, sys; print(getattr(b, 'build_' + sys.argv[1])(sys.argv[2]))"
)


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def wanted_files() -> set[str]:
    """The package as it should be installed, by the tree."""
    files = {
        f"deep_research/{name}"
        for name in ("__init__.py", "state.py", "py.typed", "langgraph.json")
    }
    for package in PACKAGES[1:]:
        files |= {
            f"{package.replace('.', '/')}/{path.name}" for path in folder_of(package).glob("*.py")
        }
    data = [*(ROOT / "prompts").glob("*.md"), *(ROOT / "app" / "exports" / "templates").iterdir()]
    data += (ROOT / "app" / "lighthouses").iterdir()
    data += (ROOT / "core").rglob("*.toml")
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
    root = tmp_path_factory.mktemp("build")
    ignored = shutil.ignore_patterns(
        ".*_cache", ".venv*", ".git", ".hypothesis", "__pycache__", "*.egg-info", "build"
    )
    tree = shutil.copytree(ROOT, root / "a tree", symlinks=True, ignore=ignored)
    for stray in ("stray.py", "conftest.py"):
        (tree / stray).write_text("raise SystemExit('not a part of the package')\n")
    (tree / ".env").write_text("OPENAI_API_KEY=sk-CANARY\n")
    with tarfile.open(build("sdist", tree, root)) as sdist:
        sdist.extractall(root / "unpacked", filter="data")
    (unpacked,) = (root / "unpacked").iterdir()
    assert not (unpacked / ".env").exists()
    (unpacked / "stray.py").write_text("raise SystemExit('not a part of the package')\n")
    return build("wheel", unpacked, root)


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = {name for name in names if ".dist-info/" in name}
    assert names - metadata == wanted_files()
    assert {name.split("/", 1)[1] for name in metadata} >= {
        "METADATA",
        "entry_points.txt",
        "licenses/LICENSE",
    }


@pytest.mark.slow
def test_an_installed_wheel_runs_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--no-deps",
        "--no-index",
        "--target",
    ]
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
    code = {
        folder
        for folder in found
        if folder.parts[0] not in NOT_PACKAGES and not folder.parts[0].startswith(".")
    }
    assert code == listed


@pytest.mark.fault("R30")
def test_every_dependency_has_a_lower_bound() -> None:
    extras = [text for extra in EXTRAS for text in extra["dependencies"]]
    for text in [*PROJECT["build-system"]["requires"], *requirements(), *extras]:
        assert operators(Requirement(text)) & {">=", ">", "==", "~="}, text


def operators(requirement: Requirement) -> set[str]:
    return {specifier.operator for specifier in requirement.specifier}


def requirements(*extras: str) -> list[str]:
    """The declared dependencies, with those of extras."""
    project = PROJECT["project"]
    return [
        *project["dependencies"],
        *(text for extra in extras for text in project["optional-dependencies"][extra]),
    ]


def pins(lock: str) -> dict[str, set[str]]:
    """The locked versions by name."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.mark.fault("R30")
@pytest.mark.parametrize(
    ("lock", "extras"), [("requirements.lock", ()), ("requirements-dev.lock", ("dev",))]
)
def test_a_lock_pins_what_is_declared(lock: str, extras: tuple[str, ...]) -> None:
    locked = pins(LOCKS[lock])
    beside = [
        text
        for extra in EXTRAS
        for text in extra["dependencies"]
        if extras and "deep-research" not in text
    ]
    for text in [*requirements(*extras), *PROJECT["dependency-groups"]["build"], *beside]:
        requirement = Requirement(text)
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions and all(requirement.specifier.contains(version) for version in versions), (
            text
        )


@pytest.mark.fault("R30")
@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_a_lock_holds_versions_and_hashes_and_nothing_else(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", lock.strip())
    unusual = [
        entry for entry in entries if not re.match(r"[\w.-]+==[\w.]+( ; [^\n]*)? \\\n", entry)
    ]
    assert unusual == []
    hashes = [line.strip(" \\") for entry in entries for line in entry.splitlines()[1:]]
    assert [line for line in hashes if not re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line)] == []


@pytest.mark.fault("R21", "R30")
def test_both_locks_agree_and_neither_holds_a_version_with_known_holes() -> None:
    small, large = (pins(LOCKS[name]) for name in ("requirements.lock", "requirements-dev.lock"))
    assert {name: large.get(name) for name in small} == small
    for lock in LOCKS.values():
        locked = pins(lock)
        assert set(FLOORS) - {"brotli"} <= set(locked)
        present = FLOORS.keys() & locked.keys()
        assert [
            name for name in present if min(map(Version, locked[name])) < Version(FLOORS[name])
        ] == []


FILES = cache(metadata.files)


@cache
def owners_of() -> dict[str, set[str]]:
    """The installed packages by the top-level names of their files. What the library has for this
    parses each of a hundred thousand lines."""
    found = defaultdict[str, set[str]](set)
    for package in metadata.distributions():
        for name in set(re.findall(r"^(\w+)[/.]", package.read_text("RECORD") or "", re.MULTILINE)):
            found[name].add(package.name)
    return found


@cache
def distribution_of(module: str) -> str:
    """The installed package that a module comes from; several share the name `langgraph`."""
    owners = sorted(owners_of()[module.split(".")[0]])
    path = module.replace(".", "/")
    wanted = {f"{path}.py", f"{path}/__init__.py"}
    own = [
        owner
        for owner in owners
        if len(owners) == 1 or not wanted.isdisjoint(map(str, FILES(owner) or ()))
    ]
    return canonicalize_name(own[0])


def imported(module: Module, nodes: Iterable[ast.AST]) -> dict[str, str]:
    """The packages that these statements of a module import, each with the module."""
    own = (*sys.stdlib_module_names, "deep_research")
    found = (
        node.names[0].name if isinstance(node, ast.Import) else node.module
        for node in nodes
        if is_absolute(node)
    )
    return {
        distribution_of(name): module.name
        for name in found
        if name and name.split(".")[0] not in own
    }


def is_absolute(node: ast.AST) -> TypeGuard[ast.Import | ast.ImportFrom]:
    return isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)


@pytest.mark.fault("R30")
def test_every_package_that_is_imported_is_declared_where_it_is_needed() -> None:
    @cache
    def declared(*extras: str) -> set[str]:
        return {canonicalize_name(Requirement(text).name) for text in requirements(*extras)}

    missing = dict[str, str]()
    for module in read_package(ROOT):
        extras = [
            extra
            for name, needed in EXTRAS_OF.items()
            if module.name.startswith(name)
            for extra in needed
        ]
        for known, nodes in (
            (declared(*extras), module.tree.body),
            (declared(*OPTIONAL), module.statements),
        ):
            missing |= {
                name: where for name, where in imported(module, nodes).items() if name not in known
            }
    assert missing == {}


@pytest.mark.fault("R30")
def test_packages_whose_inner_parts_are_used_have_an_upper_bound() -> None:
    declared = map(Requirement, requirements(*OPTIONAL))
    assert {
        canonicalize_name(part.name) for part in declared if "<" in operators(part)
    } >= NON_PUBLIC
