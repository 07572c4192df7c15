"""Reads the table `users` with Falcon, peewee and psycopg 3."""

import json
from functools import partial

from falcon import HTTP_503, MEDIA_JSON, App, Request, Response
from falcon.media import JSONHandler
from peewee import BigIntegerField, Model, OperationalError, TextField
from playhouse.postgres_ext import PooledPsycopg3Database  # type: ignore[import-untyped]

from targets.settings import HEALTH_TIMEOUT_S, Settings

settings = Settings.from_environment()
# The pool connects when it is first used. libpq takes no fractions of a second.
database = PooledPsycopg3Database(
    settings.database_url, max_connections=settings.pool_size, connect_timeout=int(HEALTH_TIMEOUT_S)
)


class User(Model):
    """One row of the table `users`."""

    id = BigIntegerField(primary_key=True)
    username = TextField()

    class Meta:
        database = database
        table_name = "users"


class Connection:
    """Lends each request a connection of the pool, as peewee's documentation recommends for Falcon."""

    def process_request(self, _request: Request, _response: Response) -> None:
        if not database.deferred:
            database.connect()

    def process_response(self, _request: Request, _response: Response, _resource: object, _succeeded: bool) -> None:
        if not database.is_closed():
            database.close()


class Health:
    """Responds to GET /health."""

    def on_get(self, _: Request, response: Response) -> None:
        if not database.deferred:
            database.execute_sql("SELECT 1")
        response.media = {"status": "ok"}


class Users:
    """Responds to GET /users/."""

    def on_get(self, _: Request, response: Response) -> None:
        response.media = {"users": list(User.select().order_by(User.id).dicts())}


def unavailable(_request: Request, response: Response, _error: Exception, _params: dict[str, str]) -> None:
    response.status = HTTP_503
    response.media = {"status": "unavailable"}


app = App(middleware=[Connection()])
# The separators are those of the other frameworks.
dumps = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
app.resp_options.media_handlers[MEDIA_JSON] = JSONHandler(dumps=dumps)
app.add_error_handler(OperationalError, unavailable)
app.add_route("/health", Health())
app.add_route("/users/", Users())
