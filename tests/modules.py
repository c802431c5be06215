"""Python files that are in no package: benchmarks, scripts and tools."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def module_at(path: Path) -> ModuleType:
    """Import a file under a name of its own, and return the module."""
    spec = importlib.util.spec_from_file_location(f"file_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module
