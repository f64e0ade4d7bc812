"""Settings of the test suite: the console's own, on the session's throwaway services, as the database's owner."""

import os

from tests.services import environment

os.environ.update(environment())

from console.settings import *  # noqa: F403 - they read the environment announced above
from console.settings import DATABASES, OWNER_DATABASE

# Tests make and flush databases, which the application's role cannot.
DATABASES["default"] = OWNER_DATABASE | {
    "OPTIONS": DATABASES["default"]["OPTIONS"],
    "CONN_MAX_AGE": 0,
}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

# No test but those of the limits themselves may meet one.
API_LIMITS = {"agent": (10**6, 10**6), "person": (10**6, 10**6)}

# Providers of tests listen on this machine.
CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = True
