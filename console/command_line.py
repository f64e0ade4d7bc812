"""Who acts on the command line of the installation."""

import getpass
import os


def actor() -> str:
    """The actor under which commands are recorded, such as `cli:mara`; by number where the system knows no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return f"cli:{name}"
