"""The order of the folders, the size of files, the names of nodes; and that importing does no work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import architecture
import pytest
from architecture import LEVELS, PACKAGE, Module, read_package

ROOT = Path(__file__).resolve().parents[2]
MODULES = read_package(ROOT)
NODES = architecture.node_names(MODULES)
Check = Callable[[Module], list[str]]
CHECKS: list[Check] = [
    architecture.upward_imports,
    architecture.misplaced_graphs,
    architecture.misplaced_clients,
    architecture.misplaced_prints,
    architecture.absolute_imports,
    architecture.foreign_private_imports,
    architecture.private_module_imports,
    architecture.re_exports,
    architecture.vague_name,
    architecture.without_docstring,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_package_keeps_to_its_rules(check: Check) -> None:
    assert [complaint for module in MODULES for complaint in check(module)] == []


def test_extras_use_the_public_api_and_no_files_import_each_other() -> None:
    folders = [
        ROOT / "extras" / extra.removeprefix("deep_research_") for extra in architecture.EXTRAS
    ]
    assert [
        complaint for folder in folders for complaint in architecture.private_imports(folder)
    ] == []
    assert architecture.circles(MODULES) == []


def test_each_room_lists_its_public_modules() -> None:
    assert architecture.unlisted_modules(MODULES) == []
    room = Module("core.library.__init__", '"""Public: `library`."""')
    modules = [room, Module("core.library.library", ""), Module("core.library.shelf", "")]
    assert architecture.unlisted_modules(modules) == ["core.library does not list shelf"]


def test_public_names_are_unique_and_specific(tmp_path: Path) -> None:
    assert architecture.repeated_names(MODULES) == []
    twice = [
        Module("core.models.reply", "class Reply: ...\nMOST = 1"),
        Module("tools.reply", "class Reply: ...\nMOST = 2"),
    ]
    assert architecture.repeated_names(twice) == [
        "MOST: core.models.reply, tools.reply",
        "Reply: core.models.reply, tools.reply",
    ]
    assert architecture.unspecific_names(ROOT) == []
    (tmp_path / "state.py").write_text("def place(one): ...")
    assert architecture.unspecific_names(tmp_path) == ["state.py:1: place", "state.py:1: one"]


def test_a_node_its_file_and_its_prompt_have_one_name() -> None:
    nodes = [module for module in MODULES if module.name in NODES]
    assert [complaint for module in nodes for complaint in architecture.misnamed_node(module)] == []
    prompts = [path.stem for path in (ROOT / "prompts").glob("*.md")]
    assert architecture.misnamed_prompts(prompts, NODES) == []


def probe(tmp_path: Path, root: Path, modules: list[str]) -> dict[str, list[str]]:
    """Import the modules in a process of their own and tell what that did."""
    folders = [tmp_path / "home", tmp_path / "work"]
    for folder in folders:
        folder.mkdir()
    script = [
        sys.executable,
        "-P",
        "-B",
        str(ROOT / "tests" / "project" / "import_probe.py"),
        str(root),
        *modules,
    ]
    environment = {**os.environ, "HOME": str(folders[0])}
    result = subprocess.run(
        script, cwd=folders[1], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return {
        **json.loads(result.stdout),
        "files": [path.name for folder in folders for path in folder.iterdir()],
    }


@pytest.mark.slow
def test_importing_does_no_work(tmp_path: Path) -> None:
    report = probe(
        tmp_path, ROOT, [f"{PACKAGE}.{module.name}".removesuffix(".__init__") for module in MODULES]
    )
    assert report["done"] == []
    assert report["files"] == []
    assert LEVELS.keys().isdisjoint(report["modules"])


def test_a_parser_starts_without_what_it_may_never_need(tmp_path: Path) -> None:
    modules = probe(tmp_path, ROOT, [f"{PACKAGE}.core.reading.documents.worker"])["modules"]
    loaded = {name.partition(".")[0] for name in modules}
    assert loaded.isdisjoint({"langgraph", "langchain_core", "pydantic"})


def test_work_at_import_is_found(tmp_path: Path) -> None:
    lines = [
        "import os, pathlib, socket, threading",
        "os.getenv('HOME')",
        "pathlib.Path('left.txt').write_text('')",
        "threading.Thread(target=int).start()",
        "socket.getaddrinfo('127.0.0.1', 80)",
    ]
    (tmp_path / "noisy.py").write_text("\n".join(lines))
    report = probe(tmp_path, tmp_path, ["noisy"])
    assert len(report["done"]) == 3
    assert report["files"] == ["left.txt"]


def test_the_tests_import_no_module_by_its_bare_name() -> None:
    assert LEVELS.keys().isdisjoint(sys.modules)


@pytest.mark.parametrize(
    ("check", "name", "text"),
    [
        (
            architecture.upward_imports,
            "core.settings.clock",
            "import deep_research.core.models.caller",
        ),
        (
            architecture.upward_imports,
            "state",
            "def late():\n    from .core.settings import limits",
        ),
        (
            architecture.misplaced_graphs,
            "nodes.plan",
            "from langgraph.graph import StateGraph as Graph",
        ),
        (
            architecture.misplaced_clients,
            "nodes.plan",
            "def late():\n    from urllib import request",
        ),
        (architecture.misplaced_prints, "nodes.plan", "def plan():\n    print('plan')"),
        (architecture.absolute_imports, "nodes.plan", "from deep_research.state import Plan"),
        (
            architecture.foreign_private_imports,
            "app.embed",
            "from langgraph._internal._config import ensure_config",
        ),
        (
            architecture.foreign_private_imports,
            "state",
            "from langgraph.graph.message import _messages_delta_reducer",
        ),
        (
            architecture.private_module_imports,
            "app.embed",
            "from ..core.library._shelf import Shelf",
        ),
        (architecture.private_module_imports, "core.library", "from ._shelf import _size"),
        (architecture.re_exports, "core.library.__init__", "from .library import Library"),
        (architecture.vague_name, "nodes.utils", ""),
        (architecture.without_docstring, "nodes.plan", "x = 1"),
        (architecture.misnamed_node, "nodes.plan", "def plan(): ...\nasync def write(): ..."),
    ],
)
def test_each_rule_can_be_broken(check: Check, name: str, text: str) -> None:
    assert check(Module(name, text))
