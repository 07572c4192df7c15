"""A small shop with Django. Logs in by a form with a CSRF token, and then expects a session."""

import hashlib
import itertools

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template import engines

PRODUCTS = [{"id": number, "name": f"{kind} {number}"} for number, kind in enumerate(["tea", "coffee", "cocoa"] * 40)]
FORM = engines["django"].from_string(
    "<form method=post>{% csrf_token %}<input name=name><input name=password type=password></form>"
)

numbers = itertools.count(1)


def health(_: HttpRequest) -> HttpResponse:
    return HttpResponse()


def products(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "")
    return JsonResponse({"products": [product for product in PRODUCTS if words in str(product["name"])]})


def product(_: HttpRequest, number: int) -> HttpResponse:
    # Every eleventh product is sold out.
    if number >= len(PRODUCTS) or number % 11 == 0:
        return JsonResponse({"error": "no such product"}, status=404)
    return JsonResponse(PRODUCTS[number])


def login(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return HttpResponse(FORM.render(request=request))
    name = request.POST["name"]
    if request.POST["password"] != f"secret-of-{name}":
        return HttpResponse(FORM.render(request=request), status=401)
    request.session["name"] = name
    return redirect("/orders/")


def orders(request: HttpRequest) -> HttpResponse:
    if "name" not in request.session:
        return redirect("/login/")
    if request.method == "GET":
        return HttpResponse(f"<h1>Orders of {request.session['name']}</h1>{FORM.render(request=request)}")
    return JsonResponse({"order": next(numbers), "quantity": int(request.POST["quantity"])}, status=201)


def photos(request: HttpRequest) -> HttpResponse:
    if "name" not in request.session:
        return redirect("/login/")
    photo = request.FILES["photo"]
    known = {"title": request.POST["title"], "file": photo.name, "type": photo.content_type}
    return JsonResponse({**known, "sha256": hashlib.sha256(photo.read()).hexdigest()}, status=201)
