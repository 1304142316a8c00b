#!/usr/bin/env python
"""Run a management command of the service."""

import errno
import os
import sys


def main() -> None:
    """Hand the command line to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here. Run 'make run', or install the pinned packages of requirements.lock.")
    from retrycontract.config.service_settings import WrongSettingError
    from retrycontract.contract.configuration import ConfigurationError

    try:
        execute_from_command_line(sys.argv)
    except (ConfigurationError, WrongSettingError) as wrong:
        sys.exit(f"The service cannot start with these settings.\n{wrong}")
    except PermissionError as error:
        sys.exit(f"{error.filename} cannot be used by this user: run as the owner of the data folder, or chown it.")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.ENOENT, errno.ENOTDIR) or error.filename is None:
            raise
        sys.exit(f"{error.filename} cannot be written ({error.strerror}): make room there, or set another data folder.")


if __name__ == "__main__":
    main()
