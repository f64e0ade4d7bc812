"""Django's settings, from the environment. `console/environment.py` declares every variable read here.

`console/checks.py` asserts the values that safety rests on, so that changing one is a decision.
"""

import logging
import os
import secrets
import sys
from pathlib import Path
from typing import Any

import environ
from celery.schedules import crontab
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from console import environment, logs

BASE_DIR = Path(__file__).resolve().parent.parent

try:
    #: Names of the settings that the last `up` of this home recorded, and nobody gave.
    RECORDED_SETTINGS = environment.load(os.environ, BASE_DIR / ".env")
except environment.UnknownSetting as unknown:
    raise ImproperlyConfigured(str(unknown)) from unknown

env = environ.Env()
CLEARANCE_ENV = os.environ.get("CLEARANCE_ENV") or "development"
if CLEARANCE_ENV not in ("development", "production"):
    raise ImproperlyConfigured("CLEARANCE_ENV is either development or production.")
PRODUCTION = CLEARANCE_ENV == "production"

# ---- our own -------------------------------------------------------------------------------------------------

CLEARANCE_HOME = environment.home(os.environ)
CLEARANCE_PORT = env.int("CLEARANCE_PORT", 8000)
CLEARANCE_BIND = env("CLEARANCE_BIND", default="127.0.0.1")
CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = env.bool("CLEARANCE_ALLOW_PRIVATE_DESTINATIONS", False)
CLEARANCE_SWEEP_SECONDS = env.float("CLEARANCE_SWEEP_SECONDS", 5)
CLEARANCE_LIVE = env("CLEARANCE_LIVE", default="poll")
if CLEARANCE_LIVE not in ("poll", "sse"):
    raise ImproperlyConfigured("CLEARANCE_LIVE is either poll or sse.")
CLEARANCE_METRICS_TOKEN = env("CLEARANCE_METRICS_TOKEN", default="")
CLEARANCE_URL = env("CLEARANCE_URL", default="").rstrip("/") or f"http://127.0.0.1:{CLEARANCE_PORT}"
CLEARANCE_SLACK_WEBHOOK = env("CLEARANCE_SLACK_WEBHOOK", default="")

# The order below is what keeps a slow answer from being sent twice; `console/checks.py` asserts it.
EFFECT_SEND_SECONDS = 20
CELERY_TASK_TIME_LIMIT = 45
EFFECT_LEASE_SECONDS = 60
CELERY_VISIBILITY_SECONDS = 300

# ---- Django --------------------------------------------------------------------------------------------------

DEBUG = False
SECRET_KEY = env("SECRET_KEY", default="")
if not SECRET_KEY:
    if PRODUCTION:
        raise ImproperlyConfigured("SECRET_KEY is required in production.")
    SECRET_KEY = secrets.token_urlsafe(50)  # nobody is signed in before `up` has made a lasting one
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"
ASGI_APPLICATION = "console.asgi.application"
AUTH_USER_MODEL = "runs.Person"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

INSTALLED_APPS = [
    "console",
    "outbox",
    "approvals",
    "runs",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "django_htmx",
    "django_structlog",
    "template_partials",
]

MIDDLEWARE = [
    "console.correlation.CorrelationId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "console.metrics.RequestSeconds",
    "console.middleware.AnswerHeaders",
    "console.middleware.Refusals",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.sessions.SessionLimits",
    "console.logs.RequestLog",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.context.navigation",
                "console.context.appearance",
                "console.halt.banner",
                "console.sending.banner",
                "console.saved_filters.saved",
            ],
        },
    },
]

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles" if PRODUCTION else None
STATICFILES_DIRS = [BASE_DIR / "static"]
_ARTIFACT_STORAGE = env("CLEARANCE_ARTIFACT_STORAGE", default="")
_ARTIFACT_FOLDER = {"location": str(CLEARANCE_HOME / "artifacts"), "file_permissions_mode": 0o600}
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "artifacts": {"BACKEND": _ARTIFACT_STORAGE}
    if _ARTIFACT_STORAGE
    else {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": _ARTIFACT_FOLDER},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
# In development whitenoise finds files where they lie; nothing has to be collected first.
WHITENOISE_USE_FINDERS = not PRODUCTION

# ---- database ------------------------------------------------------------------------------------------------


def _database(url: str, *, statement_timeout: str) -> dict[str, Any]:
    """Django's form of a database URL, with the limits every session of ours starts with."""
    database: dict[str, Any] = env.db_url_config(url)
    given = database.pop("OPTIONS", {})
    database["HOST"] = given.pop("host", database["HOST"])  # a socket folder cannot be the host part of a URL
    limits = {
        "lock_timeout": "3s",
        "statement_timeout": statement_timeout,
        "idle_in_transaction_session_timeout": "15s",
    }
    database["OPTIONS"] = {
        **given,
        "options": " ".join(f"-c {name}={value}" for name, value in limits.items()),
        "application_name": "clearance",
        # Django never prepares by itself and a threshold of None forbids it; the hot path asks by statement.
        "prepare_threshold": 5,
    }
    return database | {
        "ATOMIC_REQUESTS": False,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


_DATABASE_URL = env("DATABASE_URL", default="") or f"postgres://clearance_app@/clearance?host={CLEARANCE_HOME}/run"
DATABASES = {"default": _database(_DATABASE_URL, statement_timeout="15s")}
_OWNER_URL = env("DATABASE_OWNER_URL", default="") or _DATABASE_URL
#: How `migrate`, and only `migrate`, connects. A migration may take longer than a request.
OWNER_DATABASE = _database(_OWNER_URL, statement_timeout="0")
APP_DATABASE_ROLE = DATABASES["default"]["USER"]
OWNER_DATABASE_ROLE = OWNER_DATABASE["USER"]

# ---- broker --------------------------------------------------------------------------------------------------

REDIS_URL = env("REDIS_URL", default="") or f"unix://{CLEARANCE_HOME}/run/valkey.sock?db=0"
# A broker that hangs must not take the pages with it.
_BROKER = {"LOCATION": REDIS_URL, "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1}}
CACHES = {
    "default": {"BACKEND": "console.cache.ForgivingCache", **_BROKER},
    "broker": {"BACKEND": "django.core.cache.backends.redis.RedisCache", **_BROKER},
}

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": CELERY_VISIBILITY_SECONDS,
    # Looks for messages of dead workers every 10 s; the default pair makes that 100 s.
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    # Whoever rings while the broker is away must not wait for it: the sweep finds what is due.
    "connect_retries_timeout": 0.5,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_STORE_ERRORS_EVEN_IF_IGNORED = False
CELERY_RESULT_BACKEND = None
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "outbox.tasks.sweep",
        "schedule": CLEARANCE_SWEEP_SECONDS,
        # A turn nobody took in time is dropped: while no worker runs, turns must not pile up.
        "options": {"expires": CLEARANCE_SWEEP_SECONDS},
    },
    "notify": {
        "task": "console.tasks.sweep_notifications",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "erase-due-content": {
        "task": "outbox.tasks.erase_due_content",
        "schedule": crontab(hour="3", minute="17"),
        "options": {"expires": 6 * 60 * 60.0},
    },
    "expire-runs": {"task": "outbox.tasks.expire_runs", "schedule": 300.0, "options": {"expires": 300.0}},
}

# ---- people --------------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"

ACCOUNT_ADAPTER = "console.accounts.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
ACCOUNT_SESSION_REMEMBER = False
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Clearance"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION
MFA_WEBAUTHN_USER_VERIFICATION = "required"

# Signing in lasts two idle hours and twelve hours in all; `console/sessions.py` enforces both.
SESSION_IDLE_SECONDS = 2 * 60 * 60
SESSION_ABSOLUTE_SECONDS = 12 * 60 * 60
SESSION_COOKIE_AGE = SESSION_ABSOLUTE_SECONDS
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_NAME = "__Host-session" if PRODUCTION else "clearance-session"
SESSION_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "__Host-csrf" if PRODUCTION else "clearance-csrf"
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "console.refusals.csrf_failed"

vars().update(env.email_url("EMAIL_URL", default="consolemail://"))
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", default="clearance@localhost")
EMAIL_TIMEOUT = 10

# ---- what a browser may do with our pages --------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # probes come from inside, without TLS
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
if env.bool("CLEARANCE_TLS_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# ---- REST ----------------------------------------------------------------------------------------------------

#: Requests a minute in the long run, and at once, by kind of principal.
API_LIMITS = {"agent": (600, 6000), "person": (600, 1200)}
REST_FRAMEWORK: dict[str, Any] = {
    # Set here too, so that a view that forgets its base is closed rather than lax.
    "DEFAULT_AUTHENTICATION_CLASSES": ["console.api.authentication.PrincipalAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["console.api.wire.StrictJSONParser"],
    "EXCEPTION_HANDLER": "console.api.wire.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Clearance",
    "DESCRIPTION": "Versioned runs, approvals bound to exact bytes, effects that are never sent blindly twice.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "PREPROCESSING_HOOKS": ["console.api.schema.choose_endpoints"],
    "POSTPROCESSING_HOOKS": ["console.api.schema.add_components"],
}

# ---- logs ----------------------------------------------------------------------------------------------------

LOGGING_CONFIG = "console.logs.configure"
LOGGING = logs.config(json=PRODUCTION or not sys.stderr.isatty())
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
