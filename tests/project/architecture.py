"""What the tests of the architecture look for in source text; each check returns its complaints."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

PACKAGE = "deep_research"
_ROOMS = (
    *("records masking", "errors", "concurrency", "state prompts", "evidence settings"),
    *("store", "accounts", "events", "dialogue", "models reading", "library", "tools"),
    *("writing", "tables", "nodes", "graph", "app"),
)
"""From the lowest level to the highest."""
LEVELS = {name: level for level, names in enumerate(_ROOMS) for name in names.split()}
CORE = {*LEVELS} - {"state", "prompts", "tools", "nodes", "graph", "app"}
"""Rooms and modules in `core/`."""
EXTRAS = ("deep_research_bench", "deep_research_evaluation")
"""Packages in `extras/`, which use only the public API, as a user would."""
CLIENTS = (
    *(
        "aiohttp",
        "ddgs",
        "http.client",
        "httpcore",
        "httpx",
        "httpx2",
        "langchain_community",
        "langchain_openai",
    ),
    *(
        "langgraph_sdk",
        "openai",
        "requests",
        "socket",
        "tavily",
        "urllib.request",
        "urllib3",
        "websockets",
    ),
)
FOR_EXTRAS = (
    "deep_research.core.store.database.",
    "deep_research.core.store.location.",
    "deep_research.core.evidence.citations.labels.",
    "deep_research.core.evidence.citations.rendering.without_marks",
    "deep_research.core.writing.blocks.",
    "deep_research.core.tables.report_tables.",
    "deep_research.app.check_file.",
    "deep_research.tools.engine.",
)
"""What extras may import beside the public names: the saver as the server opens it, the labels,
marks, blocks and tables of reports, the reader of reports from elsewhere, and what an engine of
one's own returns."""
MAY_CONNECT = {"models", "reading", "tools", "app"}
HOW_TO_CONNECT = "core.settings.network"
"""Reads for all of them what the environment says on proxies and authorities, and opens no
connection."""
_FRAME = {"step_turn", "turn", "usual_cost"}
"""Public modules of the frame of nodes, which nodes may import as they may the private ones."""
VAGUE = {"common", "helper", "helpers", "misc", "util", "utils"}
UNSPECIFIC = {"one", "place", "told", "telling", "knowing"}
"""Names that do not say what they hold."""


class Module(NamedTuple):
    """One source file."""

    name: str
    """Dotted name within the package; a package's own module ends in `__init__`."""
    text: str
    """Its source."""

    @property
    def folder(self) -> str:
        """The room, or the module, on the top level; empty for the root."""
        return self.name.removeprefix("core.").split(".")[0].removesuffix("__init__")

    @property
    def is_room(self) -> bool:
        """Whether it is a package's own module."""
        return self.name.rpartition(".")[2] == "__init__"

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return _parsed(self.text)

    @property
    def statements(self) -> list[ast.AST]:
        """Every statement, those within others included."""
        return _statements(self.text)

    @property
    def nodes(self) -> list[ast.AST]:
        """Every node of its syntax tree: nine times as many."""
        return _walked(self.text)


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def _statements(text: str) -> list[ast.AST]:
    """Return the statements, and the clauses that hold further ones."""
    statements: list[ast.AST] = [*_parsed(text).body]
    for statement in statements:
        for name in ("body", "handlers", "cases", "orelse", "finalbody"):
            statements += getattr(statement, name, ())
    return statements


@cache
def _walked(text: str) -> list[ast.AST]:
    """Return the nodes in the order of `ast.walk`, which takes three times as long."""
    nodes: list[ast.AST] = [_parsed(text)]
    for node in nodes:
        for value in vars(node).values():
            parts = value if isinstance(value, list) else [value]
            nodes += [part for part in parts if isinstance(part, ast.AST)]
    return nodes


def read_package(root: Path) -> list[Module]:
    """Every module of the package, in the order of their names."""
    paths = [root / "__init__.py"]
    for name in LEVELS:
        room = root / "core" / name if name in CORE else root / name
        paths += [room.with_suffix(".py"), *room.rglob("*.py")]
    return sorted(_read(root, filter(Path.is_file, paths)))


def _read(root: Path, paths: Iterable[Path]) -> list[Module]:
    return [
        Module(".".join(path.relative_to(root).with_suffix("").parts), path.read_text("utf-8"))
        for path in paths
    ]


@cache
def imports(module: Module) -> list[str]:
    """Everything that is imported anywhere in the file, as `module` or `module.name`, of this
    package in full."""
    return list(_imports(module))


def _imports(module: Module) -> Iterator[str]:
    package = [PACKAGE, *module.name.split(".")[:-1]]
    # Few files import by a call.
    nodes = module.nodes if "import_module" in module.text else module.statements
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name_of(node.func).endswith("import_module"):
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.Constant):
                yield str(argument.value)


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def upward_imports(module: Module) -> list[str]:
    """Imports against the order of the folders, from within one level, or by a bare name."""
    return [
        f"{module.name} imports {target}"
        for target in imports(module)
        if not _may_import(module, target)
    ]


def absolute_imports(module: Module) -> list[str]:
    """Imports of this package by its name, which an editor resolves in an installed checkout only."""
    own = [node for node in module.statements if PACKAGE in _imported_packages(node)]
    return [f"{module.name}: {ast.unparse(node)}" for node in own]


def _imported_packages(node: ast.AST) -> set[str]:
    """Packages that an absolute import names."""
    names = list[str]()
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        names = [node.module]
    return {name.partition(".")[0] for name in names}


def private_imports(extra: Path) -> list[str]:
    """Imports by an extra of what is not public."""
    modules = _read(extra, extra.rglob("*.py"))
    found = [
        (module.name, target)
        for module in modules
        for target in imports(module)
        if target.count(".") > 1
    ]
    private = [
        pair
        for pair in found
        if pair[1].startswith(f"{PACKAGE}.") and not pair[1].startswith(FOR_EXTRAS)
    ]
    return [f"{name} imports {target}" for name, target in private]


def private_module_imports(module: Module) -> list[str]:
    """Imports of a room's underscore modules from outside the room."""
    room = module.name.rpartition(".")[0]
    complaints = list[str]()
    for target in imports(module):
        first, *path = target.split(".")
        if first != PACKAGE:
            continue
        for depth, part in enumerate(path):
            owner = ".".join(path[:depth])
            if _is_private(part) and owner != room:
                complaints.append(f"{module.name} imports {target}")
    return complaints


def unlisted_modules(modules: Iterable[Module]) -> list[str]:
    """Public modules that the docstring of their room's `__init__` does not list.

    Nodes are public by their names, and engines by the names that users choose them by.
    """
    modules = list(modules)
    named = {*node_names(modules)}
    rooms = {module.name.removesuffix(".__init__"): module for module in modules if module.is_room}
    complaints = list[str]()
    for module in modules:
        room, _, name = module.name.rpartition(".")
        if module.is_room or room not in rooms or _is_private(name) or room == "tools.engines":
            continue
        if module.name in named:
            continue
        if f"`{name}`" not in (ast.get_docstring(rooms[room].tree) or ""):
            complaints.append(f"{room} does not list {name}")
    return complaints


def re_exports(module: Module) -> list[str]:
    """Imports by a room's `__init__` from its own modules."""
    if not module.is_room or module.name == "__init__":
        return []
    own = f"{PACKAGE}.{module.name.removesuffix('.__init__')}."
    return [
        f"{module.name} imports {target}" for target in imports(module) if target.startswith(own)
    ]


PRIVATE_NAMES = "core.records.langgraph_private"
"""The only module that imports private names of other packages."""


def foreign_private_imports(module: Module) -> list[str]:
    """Imports of modules and names that another package marks as private by an underscore."""
    if module.name == PRIVATE_NAMES:
        return []
    foreign = [target for target in imports(module) if not target.startswith(f"{PACKAGE}.")]
    return [
        f"{module.name} imports {target}"
        for target in foreign
        if any(map(_is_private, target.split(".")))
    ]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def circles(modules: Iterable[Module]) -> list[list[str]]:
    """Files that import each other, function-level imports included; each circle is told once."""
    names = {f"{PACKAGE}.{module.name}".removesuffix(".__init__"): module for module in modules}
    graph: dict[str, set[str]] = {}
    for name, module in names.items():
        found = {
            target if target in names else target.rpartition(".")[0] for target in imports(module)
        }
        graph[name] = (found & names.keys()) - {name}
    while leaves := [name for name, targets in graph.items() if not targets]:
        graph = {name: targets - {*leaves} for name, targets in graph.items() if name not in leaves}
    return [[name, *sorted(targets)] for name, targets in sorted(graph.items())]


NAMESAKES = ("app.cli", "app.server._routes", "core.models.extractive._roles")
"""Commands, routes and roles: their functions bear the names of what they stand for."""


def repeated_names(modules: Iterable[Module]) -> list[str]:
    """Public classes, functions and constants of one name in several modules; not those of
    `NAMESAKES` or programs."""
    homes: dict[str, list[str]] = {}
    for module in modules:
        names = [
            name
            for name in _defined(module.tree)
            if not name.startswith("_") and name not in ("main", "logger")
        ]
        for name in () if module.name in NAMESAKES else names:
            homes.setdefault(name, []).append(module.name)
    return [
        f"{name}: {', '.join(names)}" for name, names in sorted(homes.items()) if len(names) > 1
    ]


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            value = node.value
            is_parameter = isinstance(value, ast.Call) and getattr(value.func, "id", "") in (
                "TypeVar",
                "ParamSpec",
            )
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                name.id for name in targets if isinstance(name, ast.Name) and not is_parameter
            )


def _may_import(module: Module, target: str) -> bool:
    first, *rest = target.replace(f"{PACKAGE}.core.", f"{PACKAGE}.").split(".")
    if first != PACKAGE:
        return bool(first) and first not in LEVELS
    here, there = module.folder, rest[0] if rest and rest[0] in LEVELS else ""
    if there == "nodes" == here:
        return _is_of_frame(".".join(rest[:-1]))
    if not here or there == here:
        return True
    return bool(there) and LEVELS[there] < LEVELS[here]


def misplaced_graphs(module: Module) -> list[str]:
    """Uses of `StateGraph` outside `graph/`."""
    if "StateGraph" not in module.text:
        return []
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in module.nodes}
    names |= {target.split(".")[-1] for target in imports(module)}
    return (
        [f"{module.name} uses StateGraph"]
        if module.folder != "graph" and "StateGraph" in names
        else []
    )


def misplaced_clients(module: Module) -> list[str]:
    """Imports of what can open a connection, outside the folders that may."""
    if module.folder in MAY_CONNECT or module.name == HOW_TO_CONNECT:
        return []
    clients = tuple(f"{client}." for client in CLIENTS)
    return [
        f"{module.name} imports {target}"
        for target in imports(module)
        if f"{target}.".startswith(clients)
    ]


def misplaced_prints(module: Module) -> list[str]:
    """Calls of `print` outside `app/`."""
    nodes = module.nodes if "print(" in module.text else []
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
    return [f"{module.name}:{call.lineno} prints" for call in prints if module.folder != "app"]


def vague_name(module: Module) -> list[str]:
    """A name that says nothing of what is inside."""
    return [f"{module.name} is a vague name"] if VAGUE & set(module.name.split(".")) else []


def without_docstring(module: Module) -> list[str]:
    """A module that does not say what it is for."""
    return [] if ast.get_docstring(module.tree) else [f"{module.name} has no docstring"]


def node_names(modules: Iterable[Module]) -> list[str]:
    """The nodes by their files, packages left out."""
    names = [module.name for module in modules if module.folder == "nodes"]
    return [name for name in names if not name.endswith("__init__") and not _is_of_frame(name)]


def _is_of_frame(name: str) -> bool:
    """Whether a module in `nodes/` is part of the nodes' frame: their turns, forms and tools."""
    return name.removeprefix("nodes.") in _FRAME or _is_private(name.rpartition(".")[2])


def misnamed_node(module: Module) -> list[str]:
    """A node's file without the asynchronous function of the same name."""
    name = module.name.split(".")[-1]
    functions = [node.name for node in module.tree.body if isinstance(node, ast.AsyncFunctionDef)]
    return [] if name in functions else [f"{module.name} defines no `async def {name}`"]


def misnamed_prompts(prompts: Iterable[str], nodes: Iterable[str]) -> list[str]:
    """Prompts that bear no node's name; a leading underscore marks a piece shared by several."""
    known = {node.split(".")[-1] for node in nodes}
    own = (prompt for prompt in prompts if not prompt.startswith("_"))
    return [f"prompts/{prompt} is no node's" for prompt in own if prompt.split(".")[0] not in known]


def unspecific_names(root: Path) -> list[str]:
    """Variables, parameters, attributes, functions and classes with a name that does not say what
    they hold."""
    folders = ("app", "core", "graph", "nodes", "prompts", "tools", "tests", "extras", "docs")
    paths = [
        *root.glob("*.py"),
        *(path for folder in folders for path in sorted((root / folder).rglob("*.py"))),
    ]
    complaints = list[str]()
    for path in paths:
        text = path.read_text("utf-8")
        # Most files are compiled already, and their code names nearly all of them good.
        code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
        if code and UNSPECIFIC.isdisjoint(_names_in(code)):
            continue
        complaints += [
            f"{path.relative_to(root)}:{line}: {name}"
            for node in ast.walk(ast.parse(text))
            for name, line in _bound(node)
            if name in UNSPECIFIC
        ]
    return complaints


def _names_in(code: CodeType) -> Iterator[str]:
    """Names that the code reads or binds, those of the functions and classes in it included."""
    yield code.co_name
    yield from (*code.co_names, *code.co_varnames, *code.co_cellvars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _bound(node: ast.AST) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.id if isinstance(node, ast.Name) else node.attr, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, node.lineno
    elif isinstance(node, ast.alias):
        yield node.asname or node.name, node.lineno
