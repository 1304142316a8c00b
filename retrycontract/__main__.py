"""Run the program as a module: `python -m retrycontract`."""

import sys

from retrycontract.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
