"""A small shop with FastAPI. Its document says all that a client needs, the login too."""

import hashlib
import os
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.security import OAuth2PasswordBearer, OAuth2PasswordRequestForm
from pydantic import BaseModel, Field


class Kind(StrEnum):
    new = "new"
    used = "used"


class ProductIn(BaseModel):
    sku: str = Field(pattern=r"^[A-Z]{3}-\d{4}$")
    name: str = Field(min_length=3, max_length=60)
    price: float = Field(gt=0, le=1000)
    kind: Kind = Kind.new


class Product(ProductIn):
    id: UUID
    created: datetime


app = FastAPI(title="Shop")
bearer = OAuth2PasswordBearer(tokenUrl="token")
products: dict[UUID, Product] = {}
tokens: dict[str, str] = {}


def customer(token: Annotated[str, Depends(bearer)]) -> str:
    if token not in tokens:
        raise HTTPException(401, "log in first")
    return tokens[token]


Customer = Annotated[str, Depends(customer)]


def found(product_id: UUID) -> Product:
    if product_id not in products:
        raise HTTPException(404, "no such product")
    return products[product_id]


def add(product: ProductIn) -> Product:
    added = Product(id=uuid4(), created=datetime.now(UTC), **product.model_dump())
    products[added.id] = added
    return added


for number in range(50):
    add(ProductIn(sku=f"TEA-{number:04}", name=f"tea {number}", price=1 + number))


@app.post("/token")
async def log_in(form: Annotated[OAuth2PasswordRequestForm, Depends()]) -> dict[str, str]:
    if form.password != f"secret-of-{form.username}":
        raise HTTPException(401, "wrong name or password")
    token = hashlib.sha256(os.urandom(16)).hexdigest()
    tokens[token] = form.username
    return {"access_token": token, "token_type": "bearer"}


@app.get("/products", tags=["products"])
async def list_products(_: Customer, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> list[Product]:
    return list(products.values())[:limit]


@app.post("/products", tags=["products"], status_code=201)
async def create_product(_: Customer, product: ProductIn) -> Product:
    return add(product)


@app.get("/products/{product_id}", tags=["products"])
async def read_product(_: Customer, product_id: UUID) -> Product:
    return found(product_id)


@app.delete("/products/{product_id}", tags=["products"], status_code=204)
async def delete_product(_: Customer, product_id: UUID) -> None:
    del products[found(product_id).id]


@app.get("/search", tags=["search"])
async def search(q: str, kind: Kind, page: Annotated[int, Query(ge=1, le=5)]) -> dict[str, int]:
    return {"page": page, "hits": sum(q in it.name and kind == it.kind for it in products.values())}


@app.get("/me", tags=["account"])
async def read_me(name: Customer) -> dict[str, str]:
    return {"name": name}


@app.get("/orders/{order_id}", tags=["account"])
async def read_order(_: Customer, order_id: int) -> dict[str, int]:
    raise HTTPException(404, f"no order {order_id}")
