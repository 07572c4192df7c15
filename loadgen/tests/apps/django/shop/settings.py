"""Settings of a small shop whose sessions are in signed cookies, so that it needs no database."""

SECRET_KEY = "only-for-tests"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates"}]
USE_TZ = True
