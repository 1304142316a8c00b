"""Doorbells that do not ring as they should."""

from __future__ import annotations

from worker.celery_doorbell import CeleryDoorbell

TIMES = 5


class StutteringDoorbell(CeleryDoorbell):
    """Ring for each attempt again and again."""

    def attempt_queued(self, attempt_id: int, *, is_dear: bool = False) -> None:
        """Wake as many workers as there are."""
        for _ in range(TIMES):
            super().attempt_queued(attempt_id, is_dear=is_dear)
