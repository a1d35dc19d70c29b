"""Builds a package whose folder is the root of the repository; the rest stands in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel


class BuildPackage(build_py):
    """Takes only the listed modules of the root package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package, as setuptools finds them, less the root's strays."""
        modules = super().find_package_modules(package, package_dir)
        ours = {"__init__", "state"}
        return [m for m in modules if package != "deep_research" or m[1] in ours]


class LinkCheckout(editable_wheel):
    """Puts a folder on the path in which type checkers find the package too: they run no import hook."""

    def finalize_options(self) -> None:
        """Take the folder with the link, if this checkout has links."""
        if Path(".typing", "deep_research").is_dir():
            self.distribution.package_dir = {"": ".typing"}
        super().finalize_options()


setup(cmdclass={"build_py": BuildPackage, "editable_wheel": LinkCheckout})
