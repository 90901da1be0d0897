"""The files of jobs: inputs that are told apart, results that are complete or absent, and the lock
of a folder."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._errors import JobError

#: The file whose lock the driver of a folder holds. Readers of Parquet folders skip such names.
LOCK = "_job.lock"

#: What a file system says that has no links, or no locks.
_MISSING = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK)


def fingerprint(path: str | Path) -> str:
    """Returns 32 digits that tell Parquet files apart: the start of a hash of the length and of the
    footer. A footer has the number of rows, in a file of a job the digest of all rows, and from
    most other writers the least and the largest value of each column.

    Raises `JobError` if this is no Parquet file.
    """
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != b"PAR1" or length > size - 12:
            raise JobError(f"the file {path} is not a Parquet file")
        file.seek(size - 8 - length)
        footer = file.read(length)
    return hashlib.sha256(size.to_bytes(8, "little") + footer).hexdigest()[:32]


def temporary_name(path: Path) -> Path:
    """Returns a new name beside a file, for what is not complete yet."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def write(path: Path, content: bytes) -> None:
    """Writes a small file so that it is complete or absent."""
    temporary = temporary_name(path)
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def publish(temporary: Path, path: Path) -> bool:
    """Gives a complete file its name, and returns whether it has it: a file that is there stays.

    On a file system without links, the last of several files that come at the same moment stays.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        if path.exists():
            return False
        temporary.replace(path)
    return True


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Holds the lock of a folder. The system ends it with the process, however that ends. Gives
    `False` if the file system has no locks.

    Raises `JobError` if somebody else holds the lock.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        is_locked = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobError(f"another job is running in the folder {folder}") from None
        except OSError as error:
            if error.errno not in _MISSING:
                raise
            is_locked = False
        yield is_locked
    finally:
        os.close(descriptor)
