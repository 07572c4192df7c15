"""Plans the server-sent events of GET /stream, and makes each event at its planned time: see stream.openapi.yaml."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

CONTENT_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-cache"}
END = b"data: [DONE]\n\n"

Milliseconds = Annotated[int, Field(ge=0, le=10_000)]


class Plan(BaseModel):
    """The query of a request: how many events to send, and when."""

    model_config = ConfigDict(extra="forbid")

    events: Annotated[int, Field(ge=1, le=10_000)]
    every: Milliseconds
    late: Annotated[int, Field(ge=1)] | None = None
    by: Milliseconds | None = None

    @model_validator(mode="after")
    def check_late(self) -> Self:
        if (self.late is None) != (self.by is None):
            raise ValueError("late and by must be given together")
        if self.late is not None and self.late > self.events:
            raise ValueError("late must be the number of an event, from 1 to events")
        return self

    def timed(self) -> Iterator[tuple[float, bytes]]:
        """Yield each event with its planned time, in seconds after the first event, and then the end marker.

        Events that are planned before the late event is sent follow the late event at once.
        """
        planned = earliest = 0
        for number in range(1, self.events + 1):
            planned = (number - 1) * self.every
            if number == self.late and self.by is not None:
                earliest = planned + self.by
            yield max(planned, earliest) / 1000, b'data: {"number": %d}\n\n' % number
        yield max(planned, earliest) / 1000, END


def made(plan: Plan) -> Iterator[bytes]:
    """Yield each event at its planned time. Times count from the start, so that delays do not add up."""
    start = time.monotonic()
    for planned, event in plan.timed():
        if (wait := start + planned - time.monotonic()) > 0:
            time.sleep(wait)
        yield event


async def made_async(plan: Plan) -> AsyncGenerator[bytes]:
    """Do the same as `made` on an event loop, which serves other requests between two events."""
    start = time.monotonic()
    for planned, event in plan.timed():
        await asyncio.sleep(max(0.0, start + planned - time.monotonic()))
        yield event
