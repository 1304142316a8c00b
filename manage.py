#!/usr/bin/env python
"""Run a management command of the service."""

import os
import sys


def main() -> None:
    """Hand the command line to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here. Run 'make run', or install the pinned packages of requirements.lock.")
    from retrycontract.contract.configuration import ConfigurationError
    from retrycontract.service_settings import WrongSettingError

    try:
        execute_from_command_line(sys.argv)
    except (WrongSettingError, ConfigurationError) as error:
        sys.exit(f"FAIL  settings     {error}")
    except PermissionError as error:
        sys.exit(f"FAIL  permissions  {error.filename}: run as the owner of the data folder, or chown it.")


if __name__ == "__main__":
    main()
