"""Templates: each package keeps its own in ``templates/``, and all are filled in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(package: str, **options: Any) -> Environment:
    """Return a Jinja2 environment of the templates of ``cinorms.{package}``; ``options`` override its own.

    Values are escaped for HTML; an unknown name is an error.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    usual: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    return Environment(loader=PackageLoader(f"cinorms.{package}", "templates"), **usual | options)
