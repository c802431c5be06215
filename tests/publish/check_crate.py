"""Check a published folder with the RO-Crate validator: ``python check_crate.py FOLDER [CRATE.jsonld RUN.jsonld]``.

The files are copies of the two contexts that the crate names, for a machine without internet. Prints what is wrong.
"""

import io
import json
import sys
from pathlib import Path
from typing import Any

from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from urllib3.response import HTTPResponse

CONTEXTS = ("https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context")
PROFILES = ("ro-crate-1.1", "workflow-ro-crate-1.0", "process-run-crate-0.5", "workflow-run-crate-0.5")


def answer_from(files: dict[str, str]) -> None:
    """Let requests for the contexts be answered from ``files``; everything else is not found."""

    def send(self: HTTPAdapter, request: PreparedRequest, **options: Any) -> Any:
        path = files.get(str(request.url).partition("#")[0])
        data = Path(path).read_bytes() if path else b"{}"
        kind = {"content-type": "application/ld+json"}
        found = HTTPResponse(
            io.BytesIO(data), headers=kind, status=200 if path else 404, preload_content=False
        )
        return self.build_response(request, found)

    HTTPAdapter.send = send  # type: ignore[method-assign]


def main(folder: str, *copies: str) -> None:
    if copies:
        answer_from(dict(zip(CONTEXTS, copies, strict=True)))
    from rocrate_validator import services

    issues = {}
    for profile in PROFILES:
        settings = {"rocrate_uri": folder, "profile_identifier": profile, "requirement_severity": "REQUIRED"}
        result = services.validate(settings)
        issues[profile] = [str(issue.message) for issue in result.get_issues()]
    print(json.dumps(issues))


if __name__ == "__main__":
    main(*sys.argv[1:])
