"""Django settings of the test suite: the product's own, pointed at throw-away data.

With RETRYCONTRACT_TEST_DATABASE=postgresql the tests run on a PostgreSQL server that is started for them.
"""

import atexit
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.serving.servers import postgresql_programs, running_postgresql

# Before the settings are read: they make keys in this folder.
_folder = tempfile.mkdtemp(prefix="retrycontract-tests-")
Path(_folder, "static").mkdir()  # whitenoise warns when it is missing
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["RETRYCONTRACT_DATA_DIR"] = _folder
Path(_folder, "config.yml").touch()
os.environ.setdefault("RETRYCONTRACT_CONFIG_FILE", str(Path(_folder, "config.yml")))
os.environ["RETRYCONTRACT_ANSWER_HOLD_SECONDS"] = "0"  # stories about taking back set their own
if os.environ.get("RETRYCONTRACT_TEST_DATABASE") == "postgresql" and postgresql_programs():
    _servers = ExitStack()
    atexit.register(_servers.close)
    os.environ["RETRYCONTRACT_DATABASE_URL"] = _servers.enter_context(running_postgresql()).url("tests")

from retrycontract.settings import *  # noqa: E402, F403

# Hashing as slowly as production does would take most of the suite's time.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Tests need no collected files.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
if DATABASES["default"]["ENGINE"].endswith("sqlite"):  # noqa: F405
    # A file, as in production: in memory, connections of several threads don't wait for each other, but fail.
    DATABASES["default"]["TEST"] = {"NAME": Path(_folder, "tests.sqlite3")}  # noqa: F405
