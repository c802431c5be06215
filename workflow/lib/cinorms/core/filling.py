"""Templates: each package keeps its own in ``templates/``, and all are filled in the same way."""

import base64
import hashlib
import re
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

#: A cell with nothing but numbers, and the hyphens in it that are minus signs.
_NUMBERS, _MINUS = re.compile(r"(?:[-+\d\s.,%()\[\]e]|to)*"), re.compile(r"(?<![\w-])-(?=\.?\d)")


def environment(package: str, **options: Any) -> Environment:
    """Return a Jinja2 environment of the templates of ``cinorms.{package}``; ``options`` override its own.

    Values are escaped for HTML; an unknown name is an error.
    """
    usual: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    loader = ChoiceLoader([PackageLoader(f"cinorms.{name}", "templates") for name in (package, "core")])
    return Environment(loader=loader, **usual | options)


def render_page(
    package: str,
    name: str,
    *,
    style: str = "",
    script: str = "",
    beside: bool = False,
    **values: Any,
) -> str:
    """Return the page ``{name}.html`` of ``cinorms.{package}`` as one text that needs no network.

    Its look is that of every page (``page.css``), then ``{name}.css`` of its package, then ``style``. A page with files
    ``beside`` it may load scripts from where it is.
    """
    sheet_of_page = files(f"cinorms.{package}") / "templates" / f"{name}.css"
    sheets = [(files("cinorms.core") / "templates" / "page.css"), sheet_of_page]
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets) + style

    template = environment(package, finalize=_with_minus).get_template(f"{name}.html")
    return template.render(style=style, script=script, content_policy=policy(style, script, beside), **values)


def _with_minus(value: Any) -> Any:
    """Return a value of a template with minus signs where it is a text of numbers alone; a float can be a place."""
    return _MINUS.sub("−", value) if type(value) is str and _NUMBERS.fullmatch(value) else value


def policy(style: str, script: str, beside: bool = False) -> str:
    """Return a page's content security policy: this one script, if any, this one style, images inside the page.

    A page opened from a disk may only load scripts ``beside`` it if its policy allows all of them: a browser cannot
    check the digest of such a file.
    """
    of_script, of_style = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    others = " 'self'" if beside else ""
    scripts = f"script-src 'sha256-{of_script}'{others}; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src 'sha256-{of_style}'; img-src data: 'self'; "
        "base-uri 'none'; form-action 'none'"
    )
