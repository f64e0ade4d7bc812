#!/usr/bin/env python
"""Django's command line, with this project's settings."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - reads the setting above

    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        sys.argv[1] = sys.argv[1].replace("-", "_")  # `break-glass` is a command, but no name for a module
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
