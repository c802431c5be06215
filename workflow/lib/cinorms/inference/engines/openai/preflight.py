"""Whether an endpoint answers, takes the key and knows the model: requests that are not paid, before any job."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from cinorms.core.errors import first_few, nearest
from cinorms.core.logs import redact
from cinorms.inference.engine_kind import EntryProblem, ModelCheck, Surroundings, error, warning
from cinorms.inference.engines.openai.replies import OPENAI
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
        findings = pool.map(lambda entry: _look(entry, surroundings), with_key)
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


def _look(entry: ModelEntry, surroundings: Surroundings) -> EntryProblem | None:
    import openai

    variable, source = entry.key_variable, str(entry.get("source"))
    key = surroundings.environment.get(variable or "", "")
    if not (key.isascii() and key.isprintable()):
        return error(f"the key in {variable} has characters that a request cannot hold")
    unlisted = warning(
        f"does not list its models, so only asking shows whether it knows {source!r}; check base_url, which "
        "often ends in /v1"
    )
    try:  # an endpoint without a key is asked as the engine asks it; none is followed to another address
        http = openai.DefaultHttpxClient(follow_redirects=False)
        with openai.OpenAI(
            api_key=key or "none", base_url=_url(entry), max_retries=0, timeout=PATIENCE, http_client=http
        ) as client:
            served = [str(model.id) for model in client.models.list().data]
            if source in served or any(name.endswith(f"/{source}") for name in served):
                return None
            with suppress(openai.APIStatusError):  # lists can leave out models that an account may use
                if client.models.retrieve(source).id == source:
                    return None
    except (openai.AuthenticationError, openai.PermissionDeniedError) as refusal:
        known_key = variable and f"check the key in {variable}"
        do = known_key or "name its key's variable as key_variable"
        return error(f"refuses the request (status {refusal.status_code}); {do}")
    except openai.APIStatusError as failure:
        status = failure.status_code
        if 300 <= status < 400:
            return error(
                "redirects to another address; prompts are sent to base_url only: put the right one there"
            )
        if status == 429 or status >= 500:
            return warning(f"answers with status {status}; it may be overloaded or down")
        return unlisted
    except openai.APIConnectionError as failure:
        reason = failure.__cause__ or failure
        text = redact(f"{type(reason).__name__}: {reason}", [key])
        text = f"does not answer ({text}); check that it is up and base_url is right"
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
