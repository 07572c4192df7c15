"""Checks responses against openapi.yaml."""

from pathlib import Path
from typing import Any

import httpx
import yaml
from jsonschema import Draft202012Validator

CONTRACT = yaml.safe_load((Path(__file__).parents[1] / "openapi.yaml").read_text())


def check(response: httpx.Response, status: int) -> Any:
    """Assert that the response has the status, and the schema of the contract for the status. Return the body."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    request = response.request
    described = CONTRACT["paths"][request.url.path][request.method.lower()]["responses"][str(status)]
    schema = described["content"]["application/json"]["schema"]
    body = response.json()
    Draft202012Validator({**schema, "components": CONTRACT["components"]}).validate(body)
    return body
