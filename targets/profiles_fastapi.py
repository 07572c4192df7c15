"""Implements profiles.openapi.yaml with FastAPI."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import compare_digest
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException as StarletteHTTPException

from targets.profiles_async_stores import Store, open_store
from targets.profiles_store import StoreError, id_of
from targets.settings import Settings

# uvicorn replaces workers that end with another code.
STARTUP_FAILED = 3


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    try:
        store = await open_store(Settings.from_environment())
    except StoreError as error:
        # uvicorn would print an exception with its traceback.
        print(error, file=sys.stderr)
        os._exit(STARTUP_FAILED)
    app.state.store = store
    yield
    if store is not None:
        await store.close()


# By default, FastAPI writes JSON with pydantic, and shows pages about the service to clients without a token.
app = FastAPI(lifespan=lifespan, default_response_class=JSONResponse, redirect_slashes=False, openapi_url=None)


async def authorized_store(
    request: Request, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]
) -> Store:
    store: Store | None = request.app.state.store
    if store is None:
        raise HTTPException(503, "no store is configured")
    if sent is None or not compare_digest(sent.credentials.encode(), store.token):
        raise HTTPException(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})
    return store


AuthorizedStore = Annotated[Store, Depends(authorized_store)]


@app.get("/health")
async def health(request: Request, response: Response) -> dict[str, str]:
    store: Store | None = request.app.state.store
    if store is None or await store.healthy():
        return {"status": "ok"}
    response.status_code = 503
    return {"status": "unavailable"}


@app.get("/profiles/{text}")
async def by_id(text: str, store: AuthorizedStore) -> Response:
    profile_id = id_of(text)
    return show(await store.by_id(profile_id) if profile_id else None)


@app.get("/profiles/nickname/{nickname}")
async def by_nickname(nickname: str, store: AuthorizedStore) -> Response:
    return show(await store.by_name("nickname", nickname))


@app.get("/profiles/username/{username}")
async def by_username(username: str, store: AuthorizedStore) -> Response:
    return show(await store.by_name("username", username))


def show(profile: bytes | None) -> Response:
    if profile is None:
        raise HTTPException(404, "no such profile")
    return Response(profile, media_type="application/json")


@app.exception_handler(StarletteHTTPException)
async def refuse(_: Request, error: StarletteHTTPException) -> JSONResponse:
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
