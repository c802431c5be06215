"""Whether an endpoint answers, takes the key and knows the model: one request that is not paid, before any job."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from cinorms.core.errors import nearest
from cinorms.core.logs import redact
from cinorms.inference.engine_kind import EntryProblem, ModelCheck, Surroundings, error, warning
from cinorms.inference.engines.openai.endpoint import OPENAI
from cinorms.inference.engines.openai.replies import parsed
from cinorms.inference.model_entry import ModelEntry

#: Seconds that an endpoint has to answer.
PATIENCE = 8.0
#: Bytes of an answer that are read.
LONGEST = 4 * 2**20
#: Models that a message names.
SHOWN = 5


class Target(NamedTuple):
    """One model at one endpoint, and the variable with its key."""

    url: str
    source: str
    variable: str | None


class _NoRedirects(HTTPRedirectHandler):
    """A key goes to the stated address and to no other."""

    def redirect_request(self, *arguments: Any) -> None:
        """Follow nothing."""
        return None


def look_at_endpoints(entries: Sequence[ModelEntry], surroundings: Surroundings) -> list[EntryProblem] | None:
    """Ask every endpoint which models it has; one whose key is missing is left to the check of keys."""
    models: dict[Target, list[str]] = {}
    for entry in entries:
        settings: Any = entry.settings  # of the class that the engine declares
        variable = entry.key_variable
        if variable is None or surroundings.environment.get(variable):
            target = Target((settings.base_url or OPENAI).rstrip("/"), settings.source, variable)
            models.setdefault(target, []).append(entry.name)
    if not models:
        return None
    with ThreadPoolExecutor(max_workers=min(8, len(models))) as pool:
        findings = list(pool.map(lambda target: _look(target, surroundings), models))
    return [
        EntryProblem(finding.severity, f"{', '.join(names)} at {target.url}: {finding.text}")
        for (target, names), finding in zip(models.items(), findings, strict=True)
        if finding
    ]


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


def _look(target: Target, surroundings: Surroundings) -> EntryProblem | None:
    key = surroundings.environment.get(target.variable or "", "")
    status, data = _get(f"{target.url}/models", key)
    if status == 0:
        text = f"does not answer ({data}); check that it is up and base_url is right"
        # A login node may see less of the world than the nodes do, and the other way round.
        return warning(f"{text} (asked from this machine)") if surroundings.cluster else error(text)
    if status in (401, 403):
        known_key = target.variable and f"check the key in {target.variable}"
        do = known_key or "name its key's variable as key_variable"
        return error(f"refuses the request (status {status}); {do}")
    if 300 <= status < 400:
        return error(
            "redirects to another address; prompts are sent to base_url only: put the right one there"
        )
    if status == 429 or status >= 500:
        return warning(f"answers with status {status}; it may be overloaded or down")
    listed = data.get("data") if isinstance(data, Mapping) else None
    if status != 200 or not isinstance(listed, list):
        return warning(
            f"does not list its models, so only asking shows whether it knows {target.source!r}; check base_url, which "
            "often ends in /v1"
        )
    known = [str(model["id"]) for model in listed if isinstance(model, Mapping) and "id" in model]
    if target.source in known or any(name.endswith(f"/{target.source}") for name in known):
        return None
    # Lists can leave out models that an account may use.
    _, single = _get(f"{target.url}/models/{quote(target.source, safe='')}", key)
    if isinstance(single, Mapping) and single.get("id") == target.source:
        return None
    near = nearest(target.source, known) or "."
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return error(
        f"does not know model {target.source!r}; it has {', '.join(sorted(known)[:SHOWN]) or 'none'}{more}"
        f"{near} Correct `source` in config/models.yaml"
    )


def _get(url: str, key: str) -> tuple[int, Any]:
    """Return the status and the content of an answer; 0 and the reason where there is none."""
    try:  # an endpoint without a key is asked as the engine asks it
        request = Request(url, headers={"Authorization": f"Bearer {key or 'none'}", "User-Agent": "cinorms"})
        with build_opener(_NoRedirects).open(request, timeout=PATIENCE) as reply:
            return reply.status, parsed(reply.read(LONGEST))
    except HTTPError as failure:
        with failure:
            return failure.code, None
    except URLError as failure:
        return 0, redact(str(failure.reason), [key])
    except ValueError:  # its text may hold the key
        return 0, "its key, or its address, has characters that a request cannot hold"
    except Exception as failure:  # whatever a server can do to a client
        return 0, redact(f"{type(failure).__name__}: {failure}", [key])


CHECKS = (
    ModelCheck("endpoints", "every endpoint answers and knows its models", look_at_endpoints),
    ModelCheck("prices", "every price that the cap needs is known", look_at_prices),
)
