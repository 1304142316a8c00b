"""What the tests of the worker share."""

from __future__ import annotations

from tests.file_database import file_database as file_database
from tests.file_database import shared_database as shared_database
