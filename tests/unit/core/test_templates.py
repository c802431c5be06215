"""One way to fill in templates: escaped, and never with a name that is not there."""

import pytest
from jinja2 import UndefinedError

from cinorms.core.filling import environment, policy


def test_values_are_escaped_unless_the_caller_does_it_and_an_unknown_name_is_an_error():
    template = environment("report").from_string("{{ x }}")
    assert template.render(x="<b>") == "&lt;b&gt;"
    assert environment("report", autoescape=False).from_string("{{ x }}").render(x="<b>") == "<b>"
    with pytest.raises(UndefinedError):
        template.render()


@pytest.mark.parametrize(
    ("package", "name"),
    [("gate", "gate"), ("printed", "replication"), ("report", "people"), ("report", "report")],
)
def test_every_page_has_the_common_head_and_no_style_of_an_element(package, name):
    made = environment(package)
    text, _, _ = made.loader.get_source(made, f"{name}.html")  # type: ignore[union-attr]
    assert text.startswith('{% extends "page.html" %}')
    for block in ("title", "header", "main", "footer"):
        assert text.count(f"{{% block {block} %}}") == 1
    assert " style=" not in text, "the page's policy lets the browser ignore it"
    assert "<h1" in text.partition("{% block header %}")[2].partition("{% endblock %}")[0]


def test_a_policy_lets_in_one_style_and_one_script_and_no_script_where_there_is_none():
    assert policy("a", "b") != policy("a", "c")
    assert policy("a", "b") != policy("c", "b")
    assert "script-src 'sha256-" in policy("a", "b")
    assert "script-src" not in policy("a", "")
    assert policy("a", "").startswith("default-src 'none'; ")
