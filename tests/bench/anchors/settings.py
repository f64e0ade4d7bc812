"""Settings of the project compared with: nothing but REST framework and the same database."""

from console.settings import DATABASES, SECRET_KEY, USE_TZ

__all__ = ["DATABASES", "SECRET_KEY", "USE_TZ"]

DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "tests.bench.anchors.urls"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "tests.bench.anchors"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REST_FRAMEWORK: dict[str, object] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}
