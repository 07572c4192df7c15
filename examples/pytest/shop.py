"""A shop with one page: the application under test."""

from fastapi import FastAPI
from pydantic import BaseModel


class Product(BaseModel):
    number: int
    name: str
    price: float


PRODUCTS = [Product(number=number, name=f"Tea {number}", price=20 - number / 100) for number in range(1, 201)]

app = FastAPI()


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.get("/products")
async def products(most: int = 20) -> list[Product]:
    return sorted(PRODUCTS, key=lambda product: product.price)[:most]
