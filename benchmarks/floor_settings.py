"""The service's settings, with the floors' addresses beside its own: both are served by the same process."""

from retrycontract.settings import *  # noqa: F403 - that is what extending settings looks like

ROOT_URLCONF = "benchmarks.floor_site"
