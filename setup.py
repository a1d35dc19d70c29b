"""Builds the package, whose folder is the root of the repository; everything else is in
pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

MODULES = ("__init__", "state")
"""Modules of the root package."""
LINKS = Path(".typing", "deep_research")
"""Package folder for editable installs: links to what the package contains."""


class BuildPackage(build_py):
    """Builds only the listed modules of the root package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Return the modules of a package as setuptools finds them, without unrelated files in the
        root."""
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if package != "deep_research" or module[1] in MODULES]


class LinkCheckout(editable_wheel):
    """Puts a real package folder on the path, since type checkers and editors do not run import
    hooks."""

    def finalize_options(self) -> None:
        """Create the links; if the system does not allow links, setuptools installs its import
        hook."""
        packages = {
            package.split(".")[1] for package in self.distribution.packages if "." in package
        }
        try:
            shutil.rmtree(LINKS.parent, ignore_errors=True)
            LINKS.mkdir(parents=True)
            for name in (
                sorted(packages)
                + [f"{module}.py" for module in MODULES]
                + ["py.typed", "langgraph.json"]
            ):
                (LINKS / name).symlink_to(
                    Path("..", "..", name), target_is_directory=name in packages
                )
        except OSError:
            shutil.rmtree(LINKS.parent, ignore_errors=True)
        else:
            self.distribution.package_dir = {"": LINKS.parent.as_posix()}
        super().finalize_options()


setup(cmdclass={"build_py": BuildPackage, "editable_wheel": LinkCheckout})
