"""Keeps stray modules of the repository's root out of the package; the rest stands in pyproject.toml."""

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildPackage(build_py):
    """Takes only the listed modules of the root package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package, as setuptools finds them, less the root's strays."""
        modules = super().find_package_modules(package, package_dir)
        ours = {"__init__", "state"}
        return [m for m in modules if package != "deep_research" or m[1] in ours]


setup(cmdclass={"build_py": BuildPackage})
