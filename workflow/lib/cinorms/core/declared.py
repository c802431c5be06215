"""What the modules of a package declare, found by looking at them: kinds, engines, formats."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

T = TypeVar("T")


def modules_in(package: str, of_folder: str = "") -> dict[str, str]:
    """Return the modules of ``package`` by name; a folder there declares in its module ``of_folder``."""
    return {
        module.name: f"{package}.{module.name}" + (f".{of_folder}" if module.ispkg and of_folder else "")
        for module in iter_modules(import_module(package).__path__)
    }


def declared(kind: type[T], name: str, modules: dict[str, str], variable: str) -> T:
    """Return what the module ``name`` declares in ``variable``; raise ``KeyError`` where there is no such module."""
    declaration = getattr(import_module(modules[name]), variable)
    if getattr(declaration, "name", None) != name or not isinstance(declaration, kind):
        raise TypeError(f"{modules[name]}: {variable} must be of {kind.__name__} with the name {name!r}")
    return declaration
