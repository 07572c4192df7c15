"""The pages of the shop."""

from django.urls import path

from shop import views

urlpatterns = [
    path("healthz", views.health),
    path("products", views.products),
    path("products/<int:number>", views.product),
    path("login/", views.login),
    path("orders/", views.orders),
    path("photos/", views.photos),
]
