"""What an actor does: one operation on record batches, with a seed that it reads on its node."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import asdict, dataclass
from typing import Any

from .. import arrow, parameters
from . import _files

#: Columns that hold secrets. They are passed on only if the caller asks for them.
SECRET = ("private_key", "shared_secret")


@dataclass(frozen=True)
class Work:
    """An operation with its arguments. Ray keeps it in clear, so it has no secret."""

    operation: str
    set: str = "761"
    encoding: str = "mixed-radix"
    seed_file: str | None = None
    context: str | None = None
    include_secrets: bool = False
    device: str = "auto"
    threads: int | None = 1

    def check(self) -> None:
        """Raises `ValueError` if the arguments do not fit together."""
        parameters(self.set, encoding=self.encoding)
        if (self.seed_file is None) != (self.context is None):
            raise ValueError("a seed file needs a context, and a context needs a seed file")
        if self.context is not None and len(self.context.encode()) > 32:
            raise ValueError("the context has more than 32 bytes")
        if self.operation == "keygen" and self.seed_file is None:
            raise ValueError("key generation needs a seed file, or its private keys are lost")
        if self.operation == "encaps" and self.seed_file is None and not self.include_secrets:
            raise ValueError(
                "encapsulation needs a seed file or include_secrets=True, or its shared secrets "
                "are lost"
            )
        if self.operation == "decaps" and not self.include_secrets:
            raise ValueError(
                "decapsulation needs include_secrets=True, because it has no other result"
            )

    def outputs(self) -> list[str]:
        """Returns the columns that the operation adds, in the order of the digest."""
        if self.operation == "keygen":
            return ["public_key", "private_key"][: 1 + self.include_secrets]
        if self.operation == "encaps":
            return ["ciphertext", "shared_secret"][: 1 + self.include_secrets]
        return ["shared_secret"]

    def inputs(self) -> list[str]:
        """Returns the columns that the operation reads, without `row`."""
        if self.operation == "keygen":
            return []
        if self.operation == "encaps":
            return ["public_key"]
        return ["ciphertext"] if self.seed_file else ["private_key", "ciphertext"]

    def identity(self) -> dict[str, Any]:
        """Returns what decides about the results, for the record of a job."""
        kept = asdict(self)
        for name in ("seed_file", "device", "threads"):
            del kept[name]
        kept["seeded"] = self.seed_file is not None
        return kept


def read_seed(path: str) -> bytes:
    """Returns the seed in a file: 32 bytes, in a file that its owner alone may read.

    Raises `OSError` if the file cannot be read, `PermissionError` if others may read it, and
    `ValueError` if it is not a regular file or has another length.
    """
    # The checks are on the open file, so nobody can exchange it after them.
    with open(path, "rb", opener=_files.open_regular) as file:
        status = os.fstat(file.fileno())
        if status.st_mode & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            raise PermissionError(f"the seed file {path} has the mode {mode:04o}, not 0600")
        seed = file.read(33)
    if len(seed) != 32:
        raise ValueError(f"the seed file {path} does not have 32 bytes")
    return seed


class Worker:
    """Performs an operation on batches. Each actor has one."""

    def __init__(self, work: Work) -> None:
        work.check()
        self._work = work
        self._seed = None if work.seed_file is None else read_seed(work.seed_file)

    def __reduce__(self) -> Any:
        raise TypeError("a worker holds a seed, so it cannot be pickled")

    def fingerprint(self) -> str | None:
        """Returns 16 digits that tell seeds apart, or `None` without a seed.

        They are a part of a hash of 256 random bits, and show nothing of the seed.
        """
        if self._seed is None:
            return None
        return hashlib.sha256(b"ctru.ray: fingerprint of a seed file" + self._seed).hexdigest()[:16]

    def __call__(self, batch: arrow.Batch) -> arrow.Batch:
        """Returns the batch with the results instead of the columns that were read."""
        work = self._work
        common: dict[str, Any] = {
            "set": work.set,
            "encoding": work.encoding,
            "device": work.device,
            "threads": work.threads,
            "seed": self._seed,
            "context": work.context,
        }
        secrets = work.include_secrets
        if work.operation == "keygen":
            private = "private_key" if secrets else None
            result = arrow.generate(batch, private_key=private, **common)
        elif work.operation == "encaps":
            shared = "shared_secret" if secrets else None
            result = arrow.encapsulate(batch, shared_secret=shared, **common)
        else:
            result = arrow.decapsulate(batch, **common)
        return result.select(self._passed_on(result.schema.names))

    def _passed_on(self, names: list[str]) -> list[str]:
        """Returns the columns of a result: those that were not read, then the new ones."""
        new = self._work.outputs()
        dropped = {*new, *self._work.inputs(), *SECRET}
        return [name for name in names if name not in dropped] + new
