"""How fast planted respondents answer: ``python benchmarks/planted.py``.

Asks the default study's respondents about the 6,912 flows of iot in 33 variants each and prints the rate.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from specs import ask_shard

from cinorms.core.root import Root
from cinorms.core.validation import load_yaml
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study.layers import Layer
from cinorms.study.load import load_study
from cinorms.study.spec import make_spec
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Root(Path(__file__).parents[1])


def main() -> None:
    config = ROOT.folder / "config" / "config.yaml"
    study = load_study([Layer("config/config.yaml", load_yaml(config))], ROOT)
    design = load_dataset(ROOT.names("vignettes")["iot"]).design
    assert design is not None
    flows = expand(design)
    prompt_set = load_prompt_set(ROOT.names("prompts")["chatgpt"])
    variants = list_variants("chatgpt", prompt_set.templates, n_templates=11, n_orders=3)
    total, started = 0, time.perf_counter()
    for model in study.all_models():
        begun = time.perf_counter()
        responses, _ = ask_shard(make_spec(study, "main", model, "1-of-1"), flows, variants)
        seconds = time.perf_counter() - begun
        total += len(responses)
        report(model, len(responses), seconds)
    report("all", total, time.perf_counter() - started)


def report(name: str, count: int, seconds: float) -> None:
    print(f"{name:<26} {count:>9,} responses {seconds:6.2f} s {count / seconds:>12,.0f}/s")


if __name__ == "__main__":
    main()
