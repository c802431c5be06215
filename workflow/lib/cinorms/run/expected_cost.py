"""What a run is expected to cost: the jobs of a study share its cap by it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cinorms.inference.engine_kind import Work
from cinorms.inference.questions import CODER, PARAPHRASES
from cinorms.inference.respondent_kinds import cost_of
from cinorms.prompts.paraphrase.frozen_file import LENGTHS
from cinorms.prompts.paraphrase.paraphrasers import INSTRUCTION, TAKEN
from cinorms.prompts.variants import list_variants
from cinorms.run.left import flows_of, read_flows
from cinorms.study.plan import estimate
from cinorms.study.study import Study


def expected_usd(study: Study) -> dict[str, float]:
    """Return the dollars that each model, coder and paraphraser is expected to cost in all: jobs share a cap by them.

    Every wording is taken to be as long as the original. So all jobs of a run get the same numbers, whether paraphrases
    exist yet or not, and their shares add up to the cap. Fetches the files of flows that are missing.
    """
    asked = study.asked()
    flows, variants = dict[str, pd.DataFrame](), dict[str, pd.DataFrame]()
    for arm, dataset in {ask["arm"]: ask["dataset"] for ask in asked}.items():
        if dataset not in flows:
            found = flows_of(study, dataset)
            flows[dataset] = read_flows(study, dataset) if found is None else found
        name, n_templates = study.arms[arm].prompts, study.templates(arm)
        templates = study.prompt_set(name).templates[:1] * n_templates
        variants[arm] = list_variants(name, templates, n_templates, study.arms[arm].orders.count)
    plan = estimate(asked, flows, variants, study.judge())
    who = plan["model"].where(~plan["arm"].str.startswith(f"{CODER}."), CODER)
    usd = {str(name): float(usd) for name, usd in plan["usd"].fillna(0.0).groupby(who).sum().items()}
    return usd | {
        f"{PARAPHRASES}{name}": most_usd(study, request) for name, request in study.awaited().items()
    }


def most_usd(study: Study, request: Mapping[str, Any]) -> float:
    """Return the dollars that all rounds of asking for paraphrases can cost; 0 where no model is asked."""
    asked, wanted = request["asked"], request["request"]
    if not asked:
        return 0.0
    entry = study.registry[asked["model"]]
    # A token has a byte or more.
    tokens_in = len(INSTRUCTION + TAKEN) + LENGTHS[1] * len(wanted["original"].encode()) * (
        wanted["count"] + 1
    )
    traces = (entry.get("reasoning") or {}).get("extra_tokens", 0)
    rates = entry.settings.rates.model_dump(exclude_none=True)
    work = Work(round(tokens_in), asked["max_tokens"], entry.gpus, rates, traces)
    return int(wanted["tries"]) * (cost_of(entry.engine, work).usd or 0.0)
