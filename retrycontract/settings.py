"""Django's settings; everything a user may change comes from retrycontract.config.service_settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from django.urls import reverse_lazy

from retrycontract.config import service_settings, telemetry
from retrycontract.config.configuration_file import load_configuration
from retrycontract.config.database_url import database_settings

BASE_DIR = Path(__file__).resolve().parent.parent
RETRYCONTRACT = service_settings.load(dict(os.environ))
CONTRACT = load_configuration(RETRYCONTRACT.config_file, os.environ)
telemetry.send_to(RETRYCONTRACT.otel_endpoint)

DEBUG = RETRYCONTRACT.debug
SECRET_KEY = RETRYCONTRACT.secret_key
ALLOWED_HOSTS = RETRYCONTRACT.allowed_hosts
CSRF_TRUSTED_ORIGINS = RETRYCONTRACT.trusted_origins

INSTALLED_APPS = [
    "retrycontract.apps.CommandsConfig",
    "retrycontract.store.apps.StoreConfig",
    "retrycontract.apps.AdminConfig",
    "dashboard.apps.DashboardConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    # Before staticfiles, whose `runserver` it replaces.
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "ninja",
]

MIDDLEWARE = [
    # What every answer carries, static files and refused hosts included.
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "retrycontract.front.middleware.ClosedHeaders",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "retrycontract.front.middleware.RequestLog",
    "retrycontract.front.middleware.HeadOfApi",
    "retrycontract.front.middleware.ProblemResponses",
    "retrycontract.front.middleware.PagesOnly",
]
# What the desk and the admin need around them, and the API does not: sessions, forms, logins, messages.
PAGE_MIDDLEWARE = [
    "retrycontract.front.middleware.SafeQueries",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.account.login.SessionLimits",
    "dashboard.shared.forms.TypedKept",
    "retrycontract.front.middleware.PageLoginRequired",
    "dashboard.account.settings.SecondFactorRequired",
    "dashboard.account.settings.OperatorPreferences",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
# They look for what stands in PAGE_MIDDLEWARE: messages, logins and sessions of the admin, and the forms' token.
# Subdomains and preloading of HSTS are their owner's to ask for: W005, W021.
SILENCED_SYSTEM_CHECKS = [
    "admin.E408", "admin.E409", "admin.E410", "security.W003", "security.W005", "security.W021",
]  # fmt: skip
ROOT_URLCONF = "retrycontract.urls"
WSGI_APPLICATION = None

TEMPLATES = [
    {
        "BACKEND": "retrycontract.config.templates.LettingGo",
        "NAME": "django",
        "DIRS": [BASE_DIR / "dashboard"],  # a page of the desk is one folder, its templates beside its view
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {
    "default": database_settings(
        RETRYCONTRACT.database_url, RETRYCONTRACT.data_dir, is_migration=sys.argv[1:2] == ["migrate"]
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = reverse_lazy("dashboard:login")
LOGIN_REDIRECT_URL = reverse_lazy("dashboard:inbox")
LOGOUT_REDIRECT_URL = LOGIN_URL

SESSION_COOKIE_AGE = RETRYCONTRACT.session_idle_minutes * 60
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = RETRYCONTRACT.https
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# No script reads it: forms and htmx take the token from the page.
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "dashboard.shared.forms.out_of_date"
SECURE_SSL_REDIRECT = RETRYCONTRACT.https
SECURE_HSTS_SECONDS = RETRYCONTRACT.hsts_seconds if RETRYCONTRACT.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS, SECURE_HSTS_PRELOAD = RETRYCONTRACT.hsts_include_subdomains, RETRYCONTRACT.hsts_preload
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if RETRYCONTRACT.https else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# What `ClosedHeaders` says of all answers; the stylesheets hold small pictures as data.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)

EMAIL_HOST, EMAIL_PORT = RETRYCONTRACT.email_host, RETRYCONTRACT.email_port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = RETRYCONTRACT.email_user, RETRYCONTRACT.email_password
EMAIL_USE_TLS, EMAIL_USE_SSL = RETRYCONTRACT.email_security == "starttls", RETRYCONTRACT.email_security == "tls"
EMAIL_TIMEOUT = 5  # seconds for each word of a conversation: a server that hangs must not hold up the next message
DEFAULT_FROM_EMAIL = SERVER_EMAIL = RETRYCONTRACT.email_from

# The bridge refuses larger bodies before Django sees them.
DATA_UPLOAD_MAX_MEMORY_SIZE = RETRYCONTRACT.max_body_bytes
STATIC_URL = "static/"
WHITENOISE_ALLOW_ALL_ORIGINS = False  # our pages alone use our files
STATIC_ROOT = Path(RETRYCONTRACT.static_dir) if RETRYCONTRACT.static_dir else RETRYCONTRACT.data_dir / "static"
# Lines of the inbox that were drawn before, 1 to 2 kB each.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 1000}}}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = "retrycontract.config"  # its `en`: the times of the admin

# Messages of Django that could quote a request stay out of the log; our own events are redacted at their source.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": "retrycontract.config.logs.formatter"}},
    "filters": {"once": {"()": "retrycontract.config.logs.OneLineEach"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["once"]}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "retrycontract": {"level": RETRYCONTRACT.log_level.upper()},
        "django": {"handlers": ["console"], "level": "WARNING", "propagate": False},
        # Its lines of refused requests quote the path, which may hold anything; ours name the route.
        "django.request": {"level": "ERROR"},
        # Whoever sends a foreign Host or 3,000 fields is refused; a traceback each would let strangers fill the log.
        "django.security": {"level": "CRITICAL"},
        "django.security.csrf": {"level": "WARNING"},
        # An agent whose key may not read would do the same with each of its calls to /mcp.
        "mcp.server._streamable_http_modern": {"level": "CRITICAL"},
        # One shape for every line; of requests ours say more than uvicorn's own.
        "uvicorn": {"handlers": [], "propagate": True},
        "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": False},
    },
}
