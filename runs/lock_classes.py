"""The first numbers of advisory locks, all of them here, so that no two uses ever meet. Any numbers would do."""

from enum import IntEnum, unique


@unique
class LockClass(IntEnum):
    """What an advisory lock of two numbers is about."""

    AUTHORITY = 1129073234
    WAITING_REQUEST = 1129073235
    DESTINATION = 1129073236
