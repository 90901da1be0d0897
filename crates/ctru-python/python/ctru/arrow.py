"""Functions from a record batch of Arrow to a record batch.

Ray Data, Spark's `mapInArrow`, Dask, Polars and DataFusion can call them. Each function adds
columns to the columns of its batch. Keys and ciphertexts are columns of `fixed_size_binary`, or of
`binary` or `large_binary`, whose values are copied first. New columns have the type of the column
that is read, and `fixed_size_binary` beside keys that are generated.

With `seed` and `context`, the operation of a row takes the seed that is derived for the number in
the column `row`, as in `ctru.Engine`: the same row has the same result in every batch.

Private keys and shared secrets that become no column are wiped. Columns are never wiped.

A process has one engine for each parameter set and device.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from . import Engine, parameters
from ._ctru import digest as _digest

if TYPE_CHECKING:
    from typing_extensions import Buffer


__all__ = ["decapsulate", "digest", "encapsulate", "engine", "generate"]

_engines: dict[tuple[str, str, str, int | None], Engine] = {}
_lock = threading.Lock()


def _forget() -> None:
    """Forgets the engines of the process that was forked, whose threads do not exist here."""
    global _lock
    _lock = threading.Lock()
    _engines.clear()


os.register_at_fork(after_in_child=_forget)


def engine(
    set: str,
    *,
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> Engine:
    """Returns the engine of this process for a parameter set, and makes it at the first call."""
    key = (set, encoding, device, threads)
    with _lock:
        if key not in _engines:
            _engines[key] = Engine(set, device, encoding=encoding, threads=threads)
        return _engines[key]


def generate(
    batch: pa.RecordBatch,
    *,
    set: str = "761",
    seed: Buffer | None = None,
    context: Buffer | str | None = None,
    row: str = "row",
    public_key: str = "public_key",
    private_key: str | None = "private_key",
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> pa.RecordBatch:
    """Adds a key pair to each row, in the columns `public_key` and `private_key`.

    With `private_key=None`, only public keys are added. Without a seed, the private keys are lost
    then, so this is a `ValueError`.
    """
    if private_key is None and seed is None:
        raise ValueError("private keys that are neither a column nor made from a seed are lost")
    run = engine(set, encoding=encoding, device=device, threads=threads)

    def of_run(first: int, _offset: int, count: int, seeds: dict[str, Any]) -> tuple[Any, Any]:
        keys = run.generate(count, kind="arrow", **_at(seeds, first))
        if private_key is None:
            _wipe(keys[1])
        return keys

    public, private = _in_runs(batch, _seeds(seed, context), row, of_run, 2)
    new = [(public_key, public)]
    if private_key is not None:
        new.append((private_key, private))
    return _with(batch, new)


def encapsulate(
    batch: pa.RecordBatch,
    public_key: str = "public_key",
    *,
    set: str = "761",
    seed: Buffer | None = None,
    context: Buffer | str | None = None,
    row: str = "row",
    ciphertext: str = "ciphertext",
    shared_secret: str | None = "shared_secret",
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> pa.RecordBatch:
    """Encapsulates once to the key of each row, and adds the columns `ciphertext` and
    `shared_secret`.

    With `shared_secret=None`, only ciphertexts are added. Without a seed, the shared secrets are
    lost then, so this is a `ValueError`.

    Raises `ctru.InvalidKey` with the first row that is not a key.
    """
    if shared_secret is None and seed is None:
        raise ValueError("shared secrets that are neither a column nor made from a seed are lost")
    sizes = parameters(set, encoding=encoding)
    run = engine(set, encoding=encoding, device=device, threads=threads)
    keys, kind = _rows(batch, public_key, sizes.public_key_bytes)

    def of_run(first: int, offset: int, count: int, seeds: dict[str, Any]) -> tuple[Any, Any]:
        try:
            sent = run.encapsulate(keys.slice(offset, count), **_at(seeds, first))
        except ValueError as error:
            raise _located(error, "public_keys", public_key, offset) from None
        if shared_secret is None:
            _wipe(sent[0])
        return sent

    secrets, ciphertexts = _in_runs(batch, _seeds(seed, context), row, of_run, 2)
    new = [(ciphertext, ciphertexts.cast(kind(sizes.ciphertext_bytes)))]
    if shared_secret is not None:
        new.append((shared_secret, secrets.cast(kind(sizes.shared_secret_bytes))))
    return _with(batch, new)


def decapsulate(
    batch: pa.RecordBatch,
    private_key: str = "private_key",
    ciphertext: str = "ciphertext",
    *,
    set: str = "761",
    seed: Buffer | None = None,
    context: Buffer | str | None = None,
    row: str = "row",
    shared_secret: str = "shared_secret",
    encoding: str = "mixed-radix",
    device: str = "auto",
    threads: int | None = None,
) -> pa.RecordBatch:
    """Decapsulates the ciphertext of each row with its private key, and adds the column
    `shared_secret`.

    With `seed` and `context`, the private key of a row is made again as `generate` made it, and
    the column `private_key` is not read.

    Raises `ctru.InvalidKey` with the first row that is not a key.
    """
    sizes = parameters(set, encoding=encoding)
    run = engine(set, encoding=encoding, device=device, threads=threads)
    ciphertexts, kind = _rows(batch, ciphertext, sizes.ciphertext_bytes)
    seeds = _seeds(seed, context)
    if seeds:

        def of_run(first: int, offset: int, count: int, seeds: dict[str, Any]) -> tuple[Any]:
            _, keys = run.generate(count, kind="arrow", **_at(seeds, first))
            try:
                return (run.decapsulate(keys, ciphertexts.slice(offset, count)),)
            finally:
                _wipe(keys)

        (secrets,) = _in_runs(batch, seeds, row, of_run, 1)
    else:
        keys, _ = _rows(batch, private_key, sizes.private_key_bytes)
        try:
            secrets = run.decapsulate(keys, ciphertexts)
        except ValueError as error:
            raise _located(error, "private_keys", private_key, 0) from None
    return _with(batch, [(shared_secret, secrets.cast(kind(sizes.shared_secret_bytes)))])


def digest(batch: pa.RecordBatch, columns: Sequence[str], *, row: str = "row") -> int:
    """Returns the digest of a batch: the sum modulo 2^256 of SHA-256(row as 8 bytes, little-endian,
    then the bytes of the columns in the order given).

    A hash is read as a number whose first byte is the most significant one. The digest of a data
    set is the sum of the digests of its batches modulo 2^256. It does not depend on their order.
    """
    numbers = _numbers(batch, row)
    arrays = []
    for name in columns:
        column = _column(batch, name)
        if not pa.types.is_fixed_size_binary(column.type):
            widths = pc.unique(pc.binary_length(column)).to_pylist() or [0]
            if len(widths) != 1 or widths[0] is None:
                raise ValueError(f"the values of the column {name!r} have several lengths")
            column = _fixed(column, name, widths[0])
        arrays.append(column)
    return int.from_bytes(_digest(_content(numbers), arrays), "big")


def _wipe(secrets: pa.FixedSizeBinaryArray) -> None:
    """Overwrites a new array of an engine, whose memory nobody else has, before it is freed."""
    data = secrets.buffers()[1]
    if data is not None and data.size:
        memoryview(data).cast("B")[:] = bytes(data.size)


def _seeds(seed: Buffer | None, context: Buffer | str | None) -> dict[str, Any]:
    """Returns the arguments of `ctru.Engine` that derive seeds."""
    if seed is None:
        if context is not None:
            raise ValueError("context has a meaning with a seed only")
        return {}
    if context is None:
        raise ValueError("a seed needs a context: the name of what it is used for")
    return {"seed": seed, "context": context}


def _at(seeds: dict[str, Any], first: int) -> dict[str, Any]:
    """Returns the same arguments for a batch that begins at the row `first`."""
    return {**seeds, "first": first} if seeds else {}


def _in_runs(
    batch: pa.RecordBatch,
    seeds: dict[str, Any],
    row: str,
    compute: Callable[[int, int, int, dict[str, Any]], tuple[Any, ...]],
    results: int,
) -> list[pa.Array]:
    """Calls `compute` for each run of consecutive row numbers: with the first number, the place in
    the batch and the length of the run. Returns the results of all runs, one after the other."""
    if not seeds or batch.num_rows == 0:
        return list(compute(0, 0, batch.num_rows, seeds))
    numbers = _numbers(batch, row)
    parts = [compute(*run, seeds) for run in _runs(numbers)]
    if len(parts) == 1:
        return list(parts[0])
    return [pa.concat_arrays([part[i] for part in parts]) for i in range(results)]


def _runs(numbers: pa.UInt64Array) -> Iterator[tuple[int, int, int]]:
    """Returns the first number, the place and the length of each run of consecutive numbers."""
    after = numbers[1:]
    follows = pc.equal(after, pc.add(numbers[:-1], pa.scalar(1, pa.uint64())))
    # The sum wraps, and no row follows the largest number.
    breaks = pc.or_(pc.invert(follows), pc.equal(after, pa.scalar(0, pa.uint64())))
    places = [0, *(place + 1 for place in pc.indices_nonzero(breaks).to_pylist())]
    for place, end in zip(places, [*places[1:], len(numbers)], strict=True):
        yield numbers[place].as_py(), place, end - place


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Returns the column `name`, without nulls."""
    if not isinstance(batch, pa.RecordBatch):
        raise TypeError(f"batch is a {type(batch).__name__}, not a pyarrow.RecordBatch")
    places = batch.schema.get_all_field_indices(name)
    if len(places) != 1:
        known = ", ".join(batch.schema.names)
        raise ValueError(f"the batch has {len(places)} columns {name!r}; its columns are {known}")
    column = batch.column(places[0])
    if column.null_count:
        null = pc.index(pc.is_null(column), True).as_py()
        raise ValueError(f"row {null} of the column {name!r} is null")
    return column


def _numbers(batch: pa.RecordBatch, row: str) -> pa.UInt64Array:
    """Returns the numbers of the rows."""
    column = _column(batch, row)
    if not pa.types.is_integer(column.type):
        raise TypeError(f"the column {row!r} has the type {column.type}, not uint64")
    try:
        return column.cast(pa.uint64())
    except pa.ArrowInvalid:
        raise ValueError(f"the column {row!r} has a number that is not in 0..2**64") from None


def _content(numbers: pa.UInt64Array) -> Buffer:
    """Returns the bytes of numbers, which are little-endian on all machines that Arrow supports."""
    data = numbers.buffers()[1]
    if data is None or not len(numbers):
        return b""
    return memoryview(data).cast("B")[8 * numbers.offset : 8 * (numbers.offset + len(numbers))]


def _rows(
    batch: pa.RecordBatch, name: str, size: int
) -> tuple[pa.FixedSizeBinaryArray, Callable[[int], pa.DataType]]:
    """Returns the column `name` as rows of `size` bytes, and a function from the size of a new
    column to its type."""
    column = _column(batch, name)
    kind: Callable[[int], pa.DataType]
    if pa.types.is_fixed_size_binary(column.type):
        kind = pa.binary
    else:
        of_column = column.type
        kind = lambda _: of_column  # noqa: E731
    return _fixed(column, name, size), kind


def _fixed(column: pa.Array, name: str, size: int) -> pa.FixedSizeBinaryArray:
    """Returns a column of bytes as an array of the type `fixed_size_binary(size)`."""
    wanted = pa.binary(size)
    if column.type == wanted:
        return column
    is_binary = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    if not is_binary:
        raise TypeError(f"the column {name!r} has the type {column.type}, not {wanted}")
    wrong = pc.index(pc.not_equal(pc.binary_length(column), size), True).as_py()
    if wrong >= 0:
        length = len(column[wrong].as_py())
        raise ValueError(f"row {wrong} of the column {name!r} has {length} bytes, not {size}")
    return column.cast(wanted)


def _located(error: ValueError, argument: str, column: str, offset: int) -> ValueError:
    """Returns an error about a row of an argument as an error about a row of the column."""
    before, found, after = str(error).partition(f" of {argument} ")
    if not found or not before.startswith("row "):
        return error
    row = int(before.removeprefix("row ")) + offset
    return type(error)(f"row {row} of the column {column!r} {after}")


def _with(batch: pa.RecordBatch, new: list[tuple[str, pa.Array]]) -> pa.RecordBatch:
    """Returns the batch with more columns. A column with the same name is replaced.

    What a job of `ctru.ray` has noted about its rows in the metadata is not true of the result.
    """
    names = [name for name, _ in new]
    kept = [i for i, name in enumerate(batch.schema.names) if name not in names]
    fields = [batch.schema.field(i) for i in kept]
    fields += [pa.field(name, column.type) for name, column in new]
    columns = [batch.column(i) for i in kept] + [column for _, column in new]
    notes = batch.schema.metadata or {}
    kept_notes = {key: note for key, note in notes.items() if not key.startswith(b"ctru.")}
    schema = pa.schema(fields, kept_notes or None)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
