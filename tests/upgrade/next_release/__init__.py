"""The migrations of this release and one that a next release could bring."""

from retrycontract.store import migrations

__path__ = [*migrations.__path__, *__path__]
