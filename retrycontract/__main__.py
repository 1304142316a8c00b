"""Run the program: what the command `retrycontract` starts, and `python -m retrycontract`."""

import signal
import sys


def main() -> int:
    """Run the command that is named on the command line and return its exit status."""
    # Python's own handler would print where in the imports it was; there is nothing yet to be left in good order.
    if is_ours := signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from retrycontract.cli import program

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return program.main()


if __name__ == "__main__":
    sys.exit(main())
