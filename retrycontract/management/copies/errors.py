"""What can go wrong with copies."""


class CopyError(RuntimeError):
    """Raised when a copy could not be made or put into place; says what to do."""


class NotOursError(ValueError):
    """Raised for a file that is no whole copy of our database."""


class NotEmptyError(RuntimeError):
    """Raised when a restore would replace something, and nobody said that it may."""

    def __init__(self, holding: str) -> None:
        self.holding = holding
        super().__init__(f"The database holds {holding}. Stop the service and say --yes to replace it; a copy is kept.")
