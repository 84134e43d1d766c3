"""Settings of the site. What differs from place to place comes from the environment; defaults are the safe ones."""

from pathlib import Path
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from portal.environment import (
    broker_from_redis_url,
    env_bool,
    env_databases,
    env_int,
    env_list,
    env_networks,
    env_peppers,
    env_secret,
    env_shared_cache,
    env_single_sign_on,
    env_str,
)
from portal.logging import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env_str("COUNTERSIGN_VAR", str(BASE_DIR / "var")))

# Identity and secrets -------------------------------------------------------------------------------------------------

DEBUG = env_bool("DEBUG", default=False)
PORTAL_URL = env_str("PORTAL_URL", "http://127.0.0.1:8000").rstrip("/")
SECRET_KEY = env_secret("SECRET_KEY")
# Keys of token hashes, apart from SECRET_KEY: rotating the one must not void the other.
TOKEN_PEPPERS = env_peppers("TOKEN_PEPPERS")

# What signs the ledger's heads (a path: web processes get along without the file), and where they are told.
LEDGER_KEY_FILE, LEDGER_ANCHORS = env_str("LEDGER_KEY_FILE", ""), env_list("LEDGER_ANCHORS")

_portal = urlsplit(PORTAL_URL)
_over_tls = _portal.scheme == "https"
ALLOWED_HOSTS = [_portal.hostname or "127.0.0.1", *env_list("ALLOWED_HOSTS")]
CSRF_TRUSTED_ORIGINS = [f"{_portal.scheme}://{_portal.netloc}"]

# The proxies in front: only they are believed about a caller's address, by which networks of tokens and the limit on
# guessing passwords go.
TRUSTED_PROXIES = env_networks("TRUSTED_PROXIES")

# Applications ---------------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "portal.accounts.single_sign_on",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "portal.accounts",
    "portal.ui",
    "checks",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "portal.csp.ContentSecurityPolicy",
    "portal.damaged.NoNul",
    "portal.programs.ProgramsFirst",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "portal.caching.KeptByNobody",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.accounts.language.PreferredLanguage",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.ui.context.waiting",
            ],
        },
    },
]

# Data -----------------------------------------------------------------------------------------------------------------

# Two roles of one database: `default` serves and owns nothing, `owner` migrates (manage.py migrate --database owner).
DATABASES = env_databases()
REDIS_URL = env_secret("REDIS_URL") or "redis://127.0.0.1:6379/0"
# `default` lives in the process: sessions, throttles and sign-in limits must work while Valkey is away.
# `shared` is for results that are dear to compute and may vanish; every key there has a lifetime.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}, "shared": env_shared_cache()}

CELERY_BROKER_URL = broker_from_redis_url(REDIS_URL)

# People ---------------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
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
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _over_tls
SESSION_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SECURE = _over_tls

ACCOUNT_ADAPTER = "portal.accounts.adapter.InvitedOnly"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
# Signing asks for a password or second factor not older than this (seconds).
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
# Each process counts for itself (see CACHES). `act`: signing, waiving and the like, by one person.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key", "reauthenticate": "10/m/user", "act": "20/m/user"}
# One identity provider at most, for invited people only (OIDC_ISSUER and the like).
SOCIALACCOUNT_ADAPTER = "portal.accounts.single_sign_on.adapter.InvitedAtTheProvider"
SOCIALACCOUNT_PROVIDERS = env_single_sign_on()
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "Countersign"
MFA_TOTP_TOLERANCE = 1  # steps of 30 s: phones are never quite on time
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = DEBUG

# Browser safety -------------------------------------------------------------------------------------------------------

SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _over_tls else 0
# The TLS proxy says so, and overwrites what a client says; wrong, it would cost nothing but this header's own promise.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _over_tls else None
# Ours instead: frame-ancestors of the content security policy; the proxy's redirect; other names of the domain are not
# ours to promise anything about.
SILENCED_SYSTEM_CHECKS = ["security.W002", "security.W005", "security.W008", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Language and time ----------------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = USE_TZ = True
TIME_ZONE = "UTC"

# Static files: ours, and those that installed packages carry ----------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = Path(env_str("STATIC_ROOT", str(BASE_DIR / "staticfiles")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "portal.static.PlotlyFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG

# API ------------------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["checks.api.permissions.DenyAll"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "checks.api.problems.problem_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Countersign",
    "DESCRIPTION": "What node agents, job schedulers and operators may ask and tell the portal.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "checks.api.gate_openapi.add_gate",
        "checks.api.ready_nodes_openapi.add_ready_nodes",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # No badge from another site's validator; links to one operation work.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    "REDOC_DIST": "SIDECAR",
}
# A report of 60 facts is under 10 kB compressed; this is the uncompressed limit of any request body.
DATA_UPLOAD_MAX_MEMORY_SIZE = env_int("MAX_BODY_BYTES", 8 * 1024 * 1024)

# Paper ----------------------------------------------------------------------------------------------------------------

# The Chromium or Chrome that prints records as PDF, by name or path; empty: the first one on PATH, if any.
CHROMIUM = env_str("CHROMIUM", "")

# Notices and logs -----------------------------------------------------------------------------------------------------

# Chats and web hooks, by cluster; the file holds secrets and is read where it is needed, by the worker.
NOTIFY_FILE = env_str("NOTIFY_FILE", "")
# People get mail where a server for it was named.
MAILS_PEOPLE = bool(env_str("EMAIL_HOST", ""))
EMAIL_HOST = env_str("EMAIL_HOST", "") or "127.0.0.1"
EMAIL_PORT = env_int("EMAIL_PORT", 25)
EMAIL_HOST_USER = env_str("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = env_secret("EMAIL_HOST_PASSWORD") if EMAIL_HOST_USER else ""
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", default=False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env_str("EMAIL_FROM", f"countersign@{_portal.hostname}")

LOGGING = logging_config(level=env_str("LOG_LEVEL", "INFO"))
