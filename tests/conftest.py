"""What several test modules share: the project, studies built from layers, and flows to ask about."""

import copy
import gc
import os
from collections import Counter
from pathlib import Path
from typing import Any

# Before numpy is imported: its threads wait for a core that another process of pytest has, and burn ten times its time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pandas as pd
import pytest
from hypothesis import settings

from cinorms.core.errors import DataError
from cinorms.core.root import Root
from cinorms.inference.model_entry import load_registry
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study import load
from cinorms.study.load import load_study
from cinorms.study.study import Study
from cinorms.vignettes.designs import expand, load_dataset

from .published_files import mirror_in
from .studies import Build, default_layer

ROOT = Path(__file__).parents[1]

# A busy machine is no mistake.
settings.register_profile("any time", deadline=None)
settings.load_profile("any time")

#: What pytest's closing line calls the tests that could not run, after their number.
LEFT_OUT = "left out for want of the published data (CINORMS_MIRROR=FOLDER make test runs them)"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what reads the authors' data: ``pytest -m published`` runs it alone."""
    for item in items:
        if "mirror" in getattr(item, "fixturenames", ()):
            item.add_marker("published")


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Look for no garbage while tests are collected: they stay until the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what is collected to no later garbage collection."""
    gc.freeze()
    gc.enable()


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count what was left out for want of the published data apart from what was skipped for another reason."""
    if report.skipped and isinstance(report.longrepr, tuple) and LEFT_OUT in report.longrepr[2]:
        return LEFT_OUT, "s", "LEFT OUT"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that were left out and say why, before pytest's closing line counts them."""
    reports = terminalreporter.stats.get(LEFT_OUT, [])
    if reports:
        terminalreporter.section("published data")
        for name, count in Counter(report.nodeid.partition("[")[0] for report in reports).items():
            terminalreporter.write_line(f"{name} ({count})" if count > 1 else name)
        terminalreporter.write_line(reports[0].longrepr[2].removeprefix("Skipped: ").partition(": ")[2])


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the authors' files; fetch them if need be. In CI their want is a failure."""
    try:
        return mirror_in(tmp_path_factory.mktemp("mirror"))
    except DataError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{LEFT_OUT}: {error}")


@pytest.fixture(scope="session")
def folder() -> Path:
    """Return the project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def root() -> Root:
    """Return where the project's files stand, as the library wants to be told."""
    return Root(ROOT)


@pytest.fixture(scope="session")
def build_study(root: Root) -> Build:
    """Return a function that loads the default study with study.yaml and --config on top."""

    registry = load_registry(root)

    def build(study: Any = None, config: Any = None, study_file: bool = False) -> Study:
        layers = default_layer()
        layers |= {"study.yaml": study} if study is not None or study_file else {}
        layers |= {"--config": config} if config is not None else {}
        with pytest.MonkeyPatch.context() as patch:
            # Parsing the registry takes longer than everything else that is tested here.
            patch.setattr(load, "load_registry", lambda _: copy.deepcopy(registry))
            return load_study(layers, root)

    return build


@pytest.fixture(scope="session")
def iot_flows() -> pd.DataFrame:
    """Return the 6,912 flows of the dataset iot; tests leave them as they are."""
    return expand(load_dataset(ROOT / "resources/vignettes/iot.yaml"))


@pytest.fixture(scope="session")
def iot_variants() -> pd.DataFrame:
    """Return the 33 variants of the default study."""
    prompt_set = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml")
    return list_variants("chatgpt", prompt_set.templates, n_templates=11, n_orders=3)
