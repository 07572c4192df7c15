"""Implements the contract and stream.openapi.yaml with Flask."""

from flask import Flask, Response, request
from pydantic import ValidationError

from targets.items import ITEMS
from targets.settings import Settings
from targets.stream import CONTENT_TYPE, HEADERS, Plan, made
from targets.sync_backends import Backends

app = Flask(__name__)
backends = Backends(Settings.from_environment())


@app.get("/")
def hello() -> dict[str, str]:
    return {"message": "Hello world"}


@app.get("/health")
def health() -> tuple[dict[str, str], int]:
    if backends.healthy():
        return {"status": "ok"}, 200
    return {"status": "unavailable"}, 503


@app.get("/redis3")
def redis3() -> dict[str, list[str | None]]:
    return {"values": backends.read_values()}


@app.post("/items")
def insert_items() -> tuple[dict[str, int], int]:
    items = ITEMS.validate_python(request.get_json())
    return {"inserted": backends.insert(items)}, 201


@app.get("/stream")
def stream() -> Response:
    plan = Plan.model_validate(request.args.to_dict())
    return Response(made(plan), headers=HEADERS, content_type=CONTENT_TYPE)


@app.errorhandler(ValidationError)
def invalid(error: ValidationError) -> tuple[dict[str, str], int]:
    return {"error": str(error)}, 400
