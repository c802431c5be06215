"""One way to fill in templates: escaped, and never with a name that is not there."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from cinorms.core.templates import environment


def test_values_are_escaped_unless_the_caller_does_it_and_an_unknown_name_is_an_error() -> None:
    template = environment("report").from_string("{{ x }}")
    assert template.render(x="<b>") == "&lt;b&gt;"
    assert environment("report", autoescape=False).from_string("{{ x }}").render(x="<b>") == "<b>"
    with pytest.raises(UndefinedError):
        template.render()
