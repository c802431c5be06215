"""Whether an endpoint answers and knows the model: requests that are not paid, before any job."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from cinorms.core.errors import ConfigError, first_few, nearest
from cinorms.core.logs import redact
from cinorms.inference.engine_kind import EntryProblem, ModelCheck, Surroundings, error, warning
from cinorms.inference.engines.openai.replies import ADVICE, OPENAI, key_problem
from cinorms.inference.model_entry import ModelEntry

#: Seconds that an endpoint has to answer.
PATIENCE = 8.0


def look_at_endpoints(entries: Sequence[ModelEntry], surroundings: Surroundings) -> list[EntryProblem] | None:
    """Ask the endpoint of every model which it has; one whose key is missing is left to the check of keys."""
    with_key = [
        entry
        for entry in entries
        if entry.key_variable is None or surroundings.environment.get(entry.key_variable)
    ]
    if not with_key:
        return None
    with ThreadPoolExecutor(max_workers=8) as pool:
        findings = pool.map(lambda entry: asyncio.run(_look(entry, surroundings)), with_key)
        return [
            EntryProblem(finding.severity, f"{entry.name} at {_url(entry)}: {finding.text}")
            for entry, finding in zip(with_key, findings, strict=True)
            if finding
        ]


def _url(entry: ModelEntry) -> str:
    return str(entry.get("base_url") or OPENAI)


def look_at_prices(entries: Sequence[ModelEntry], surroundings: Surroundings) -> list[EntryProblem] | None:
    """Look for the prices that a cap on spending needs."""
    cap = surroundings.cap
    if cap is None:
        return None
    names = ("usd_per_million_input", "usd_per_million_output")
    return [
        error(
            f"{entry.name}: max_cost_usd ({cap:g}) needs its price; add rates.{names[0]} and rates.{names[1]} to its "
            "entry in config/models.yaml (0 for a server of your own)"
        )
        for entry in entries
        if any(getattr(entry.settings.rates, name) is None for name in names)
    ]


def look_at_ends(entries: Sequence[ModelEntry], surroundings: Surroundings) -> list[EntryProblem]:
    """Look for models that their endpoints stop serving soon."""
    return [warning(text) for text in (entry.ending() for entry in entries) if text]


async def _look(entry: ModelEntry, surroundings: Surroundings) -> EntryProblem | None:
    import openai

    from cinorms.inference.engines.openai.client import judge_connection, make_client, reason_of

    variable, source = entry.key_variable, str(entry.get("source"))
    key = surroundings.environment.get(variable or "", "")
    if variable and (unusable := key_problem(variable, key)):
        return error(unusable)
    unlisted = warning(
        f"does not list its models, so only asking shows whether it knows {source!r}; check base_url, which "
        "often ends in /v1"
    )
    try:  # as the engine asks it
        async with make_client(_url(entry), key, PATIENCE) as client:
            served = [str(model.id) for model in (await client.models.list()).data]
            if source in served or any(name.endswith(f"/{source}") for name in served):
                return None
            with suppress(openai.APIStatusError):  # lists can leave out models that an account may use
                if (await client.models.retrieve(source)).id == source:
                    return None
    except (openai.AuthenticationError, openai.PermissionDeniedError) as refusal:  # some list them to nobody
        whether = (
            f"the key in {variable} is right" if variable else "it needs no key (key_variable names one)"
        )
        return warning(
            f"does not list its models (status {refusal.status_code}), so only asking shows whether {whether}"
        )
    except ConfigError as mistake:
        return error(str(mistake))
    except openai.APIStatusError as failure:
        status = failure.status_code
        if 300 <= status < 400:
            return error(
                "redirects to another address; prompts are sent to base_url only: put the right one there"
            )
        if status == 429 or status >= 500:
            return warning(f"answers with status {status}; it may be overloaded or down")
        return unlisted
    except openai.APIConnectionError as broken:
        reason, do = redact(reason_of(broken), [key]), ADVICE[judge_connection(broken).advice]
        text = f"does not answer ({reason}); {do}"
        # A login node may see less of the world than the nodes do, and the other way round.
        return warning(f"{text} (asked from this machine)") if surroundings.cluster else error(text)
    except Exception:  # whatever a server can send instead of a list
        return unlisted
    if not served:
        return unlisted
    near = nearest(source, served) or "."
    return error(
        f"does not know model {source!r}; it has {first_few(sorted(served))}{near} "
        "Correct `source` in config/models.yaml"
    )


CHECKS = (
    ModelCheck("endpoints", "every endpoint answers and knows its models", look_at_endpoints),
    ModelCheck("prices", "every price that the cap needs is known", look_at_prices),
    ModelCheck("ends", "no endpoint stops serving a model soon", look_at_ends),
)
