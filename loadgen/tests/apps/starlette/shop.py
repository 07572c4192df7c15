"""A small shop with Starlette. Logs in by a form, and then expects a token."""

import hashlib
import itertools
import os
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PRODUCTS = [{"id": number, "name": f"{kind} {number}"} for number, kind in enumerate(["tea", "coffee", "cocoa"] * 40)]
# Ends the server in the middle of its work, as a fault of its own would.
DIES_AFTER = int(os.environ.get("DIES_AFTER", "0"))

tokens: dict[str, str] = {}
orders = itertools.count(1)
requests = itertools.count(1)


async def health(_: Request) -> Response:
    return Response()


async def products(request: Request) -> Response:
    if DIES_AFTER and next(requests) > DIES_AFTER:
        print("shop: out of memory", flush=True)
        os._exit(3)
    words = request.query_params.get("q", "")
    return JSONResponse({"products": [product for product in PRODUCTS if words in str(product["name"])]})


async def product(request: Request) -> Response:
    number = request.path_params["number"]
    # Every eleventh product is sold out.
    if number >= len(PRODUCTS) or number % 11 == 0:
        return JSONResponse({"error": "no such product"}, 404)
    return JSONResponse(PRODUCTS[number])


async def login(request: Request) -> Response:
    form = await request.form()
    name = str(form["name"])
    if form["password"] != f"secret-of-{name}":
        return JSONResponse({"error": "wrong name or password"}, 401)
    token = hashlib.sha256(os.urandom(16)).hexdigest()
    tokens[token] = name
    return JSONResponse({"token": token})


def customer(request: Request) -> str | None:
    return tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))


async def order(request: Request) -> Response:
    if customer(request) is None:
        return JSONResponse({"error": "log in first"}, 401)
    asked: dict[str, Any] = await request.json()
    return JSONResponse({"order": next(orders), "quantity": asked["quantity"]}, 201)


async def photo(request: Request) -> Response:
    if customer(request) is None:
        return JSONResponse({"error": "log in first"}, 401)
    async with request.form() as form:
        upload = form["photo"]
        if isinstance(upload, str):
            return JSONResponse({"error": "photo is no file"}, 422)
        content = await upload.read()
        known = {"title": form["title"], "file": upload.filename, "type": upload.content_type}
    return JSONResponse({**known, "sha256": hashlib.sha256(content).hexdigest()}, 201)


app = Starlette(
    routes=[
        Route("/healthz", health),
        Route("/products", products),
        Route("/products/{number:int}", product),
        Route("/login", login, methods=["POST"]),
        Route("/orders", order, methods=["POST"]),
        Route("/photos", photo, methods=["POST"]),
    ]
)
