"""From study files to one checked study: layers are merged, and every name is looked up."""

from __future__ import annotations

from collections.abc import Sequence

from cinorms.core.validation import check
from cinorms.study.checks import check_complete, check_names
from cinorms.study.entry_checks import check_entries
from cinorms.study.layers import Layer, merge
from cinorms.study.registry import load_registry
from cinorms.study.root import Root
from cinorms.study.study import Study


def load_study(layers: Sequence[Layer], root: Root) -> Study:
    """Check each layer, merge them (the last wins) and look up every name.

    Raises
    ------
    ConfigError
        For the first mistake, with the file, the key, what was given and what is allowed.

    """
    for layer in layers:
        check(layer.document, root.schemas / "study.schema.yaml", layer.file)
    merged = merge(layers)
    check_complete(merged, root)
    study = Study(merged, load_registry(root), root)
    check_names(study, layers)
    check_entries(study, layers)
    return study
