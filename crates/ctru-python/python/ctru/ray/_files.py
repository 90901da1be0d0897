"""The files of jobs: inputs that are found and told apart, results that are complete or absent, and
the lock of a folder."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from ._errors import JobError

#: The file whose lock the driver of a folder holds. Readers of Parquet folders skip such names.
LOCK = "_job.lock"

#: What a file system says that has no links, or no locks.
_MISSING = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK)


#: Files in the format of Parquet without rows: what other programs note about a whole folder.
_NOTES = ("_metadata", "_common_metadata")

#: The names of files that are not complete yet, as `temporary_name` makes them of other names.
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{32}\.tmp", re.DOTALL)

_Result = TypeVar("_Result")


def files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Returns each file in a folder and in the folders below it, in the order of names, and whether
    it is hidden: whether its name, or that of a folder on the way, begins with "." or "_". Links
    are followed.

    Raises `JobError` for what is neither a file nor a folder, and for what can be reached twice,
    unless it is hidden, and `OSError` if a folder cannot be read.
    """
    seen: dict[tuple[int, int], Path] = {}

    def check(path: Path, status: os.stat_result) -> None:
        known = seen.setdefault((status.st_dev, status.st_ino), path)
        if known != path:
            raise JobError(f"{path} and {known} are the same, and their rows would count twice")

    def walk(folder: Path, is_hidden: bool) -> Iterator[tuple[Path, bool]]:
        for name in sorted(os.listdir(folder)):
            path, hides = folder / name, is_hidden or name.startswith((".", "_"))
            try:
                status = path.stat()
            except OSError as error:
                if hides and error.errno in (errno.ENOENT, errno.ELOOP):
                    continue
                raise JobError(f"{path} cannot be read: {error.strerror}") from None
            if stat.S_ISDIR(status.st_mode):
                check(path, status)
                yield from walk(path, hides)
            elif stat.S_ISREG(status.st_mode):
                if not hides:
                    check(path, status)
                yield path, hides
            elif not hides:
                raise JobError(f"{path} is neither a file nor a folder")

    check(folder, folder.stat())
    return walk(folder, False)


def open_regular(path: str, flags: int) -> int:
    """Opens a file for `open`, as its argument `opener`.

    Raises `ValueError` if it is not a regular file. To open a pipe would mean to wait for somebody
    who writes to it.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{path} is not a regular file")
    return descriptor


def is_parquet(path: Path) -> bool:
    """Returns whether a file begins and ends as Parquet files do."""
    with open(path, "rb", opener=open_regular) as file:
        begin, size = file.read(4), file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 4))
        return begin == file.read(4) == b"PAR1" and size >= 12


def inputs(folder: Path) -> list[str]:
    """Returns the paths, below a folder, of all files in it and in the folders below it, which must
    be Parquet files. Hidden files of other formats are the notes of programs.

    Raises `JobError` for hidden Parquet files, and for what `files` refuses.
    """
    found = []
    for path, is_hidden in files(folder):
        if not is_hidden:
            found.append(str(path.relative_to(folder)))
        elif path.name not in _NOTES and not _TEMPORARY.fullmatch(path.name) and is_parquet(path):
            raise JobError(
                f"the Parquet file {path} is hidden, by a name that begins with '.' or '_'; give "
                "it another name, or move it away"
            )
    return found


def fingerprint(path: str | Path) -> str:
    """Returns 32 digits that tell Parquet files apart: the start of a hash of the length and of the
    footer. A footer has the number of rows, in a file of a job the digest of all rows, and from
    most other writers the least and the largest value of each column.

    Raises `JobError` if this is no Parquet file.
    """
    with open(path, "rb", opener=open_regular) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != b"PAR1" or length > size - 12:
            raise JobError(
                f"the file {path} is not a Parquet file; a job reads all files in a folder, and in "
                "those below it, so move it away"
            )
        file.seek(size - 8 - length)
        footer = file.read(length)
    return hashlib.sha256(size.to_bytes(8, "little") + footer).hexdigest()[:32]


def temporary_name(path: Path) -> Path:
    """Returns a new name beside a file, for what is not complete yet."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def remove_unfinished(paths: Iterable[Path]) -> None:
    """Removes, beside these files, what was begun for them and is not complete."""
    own = set(paths)
    for folder in filter(Path.is_dir, {path.parent for path in own}):
        for name in os.listdir(folder):
            path, known = folder / name, _TEMPORARY.fullmatch(name)
            if known and folder / known[1] in own and path.is_file() and not path.is_symlink():
                path.unlink(missing_ok=True)


def create(path: Path, mode: int, fill: Callable[[BinaryIO], _Result]) -> tuple[_Result, bool]:
    """Makes a file of what `fill` writes, which is complete or absent. Returns what `fill` returns
    and whether the file has its name: a file that is there stays."""
    temporary = temporary_name(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            result = fill(file)
            file.flush()
            os.fsync(file.fileno())
        return result, publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


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
