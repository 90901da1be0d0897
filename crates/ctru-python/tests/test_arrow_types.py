"""Columns of all types that hold bytes: in one piece and in chunks, as dictionaries, as extensions,
for the engine and for the functions over record batches."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import engine, key_pairs, refused
from test_arrays import content

import ctru
import ctru.arrow

SEEDS = {"seed": bytes(32), "context": "types"}
DEVICE = {"device": "cpu"}


class Rows(pa.ExtensionType):
    """An extension of a type of bytes."""

    def __init__(self, storage):
        super().__init__(storage, "ctru.tests.rows")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, _):
        return cls(storage)


VALUES = {
    "fixed": pa.binary,
    "binary": lambda _: pa.binary(),
    "large": lambda _: pa.large_binary(),
    "view": lambda _: pa.binary_view(),
}
INDICES = [
    kind() for kind in (pa.int8, pa.uint8, pa.int16, pa.uint16, pa.int32, pa.uint32, pa.int64)
] + [pa.uint64()]


def plain(rows, kind, offset=2):
    """Returns an array that begins inside its buffers."""
    values = [rows[0].tobytes()] * offset + [row.tobytes() for row in rows]
    return pa.array(values, kind(rows.shape[1])).slice(offset)


def dictionary(rows, kind, index):
    """Returns a dictionary whose first values no row has."""
    values = plain(np.concatenate([rows[:1], rows[::-1]]), kind)
    return pa.DictionaryArray.from_arrays(pa.array(range(len(rows), 0, -1), index), values)


def extension(rows, kind):
    storage = plain(rows, kind)
    return pa.ExtensionArray.from_storage(Rows(storage.type), storage)


def chunked(array):
    half = len(array) // 2
    return pa.chunked_array([array[:half], array[half:half], array[half:]], array.type)


TYPES = {name: lambda rows, kind=kind: plain(rows, kind) for name, kind in VALUES.items()}
TYPES |= {
    f"dictionary of {name}": lambda rows, kind=kind: dictionary(rows, kind, pa.int32())
    for name, kind in VALUES.items()
}
TYPES |= {
    f"dictionary with {index}": lambda rows, index=index: dictionary(rows, pa.binary, index)
    for index in INDICES
}
TYPES |= {
    f"extension of {name}": lambda rows, kind=kind: extension(rows, kind)
    for name, kind in VALUES.items()
}
TYPES |= {
    f"chunks of {name}": lambda rows, make=make: chunked(make(rows))
    for name, make in dict(TYPES).items()
}
ALL = pytest.mark.parametrize("name", TYPES)


@ALL
@pytest.mark.parametrize("count", [0, 1, 20])
def test_engines(name, count):
    run, make = engine(), TYPES[name]
    public, private = (rows[:count] for rows in key_pairs())
    if not count:
        public, private = (rows[:1] for rows in key_pairs())
        empty = make(public)[:0]
        secrets, ciphertexts = run.encapsulate(empty)
        assert (len(secrets), len(ciphertexts)) == (0, 0)
        assert len(run.decapsulate(make(private)[:0], ciphertexts)) == 0
        return
    expected = run.encapsulate(public, **SEEDS)
    got = run.encapsulate(make(public), **SEEDS)
    assert all(isinstance(part, pa.FixedSizeBinaryArray) for part in got)
    assert [content(part) for part in got] == [part.tobytes() for part in expected]
    secrets = run.decapsulate(make(private), make(expected[1]))
    assert content(secrets) == expected[0].tobytes()
    # A slice of any kind.
    middle = run.encapsulate(make(public)[count // 3 :], first=count // 3, **SEEDS)
    assert content(middle[1]) == expected[1][count // 3 :].tobytes()


@ALL
@pytest.mark.parametrize("kind", [pa.RecordBatch, pa.Table])
def test_record_batches_and_tables(name, kind):
    if kind is pa.RecordBatch and name.startswith("chunks"):
        pytest.skip("record batches have no chunks")
    make, numbers = TYPES[name], [5, 6, 7, 100, 101, 2**63]
    public, private = (rows[: len(numbers)] for rows in key_pairs())
    row = pa.array(numbers, pa.uint64())
    batch = kind.from_arrays([row, make(public), make(private)], ["row", "k", "p"])
    wanted = pa.RecordBatch.from_arrays(
        [row, plain(public, pa.binary), plain(private, pa.binary)], ["row", "k", "p"]
    )
    expected = ctru.arrow.encapsulate(wanted, "k", **SEEDS, **DEVICE)
    sent = ctru.arrow.encapsulate(batch, "k", **SEEDS, **DEVICE)
    assert type(sent) is kind
    sent.validate(full=True)
    for column in ("ciphertext", "shared_secret"):
        assert sent.column(column).to_pylist() == expected.column(column).to_pylist()
    of_column = batch.schema.field("k").type
    is_free = of_column in (pa.binary(), pa.large_binary(), pa.binary_view())
    assert sent.schema.field("ciphertext").type == (of_column if is_free else pa.binary(952))
    if is_free and kind is pa.Table:
        # An array of `binary` has less than 2 GiB, and a table with chunks of it can have more.
        lengths = [len(chunk) for chunk in batch.column("k").chunks]
        assert [len(chunk) for chunk in sent.column("ciphertext").chunks] == lengths
    received = ctru.arrow.decapsulate(sent, "p", shared_secret="again", **DEVICE)
    assert received.column("again").to_pylist() == expected.column("shared_secret").to_pylist()
    columns = ["k", "p", "ciphertext"]
    assert ctru.arrow.digest(sent, columns) == ctru.arrow.digest(expected, columns)
    assert ctru.arrow.digest(sent.slice(0, 0), columns) == 0
    assert ctru.arrow.encapsulate(batch.slice(0, 0), "k", **DEVICE).num_rows == 0


def test_keys_that_are_generated_into_tables():
    table = pa.table({"row": pa.chunked_array([[4, 5], [], [9]], pa.uint64())})
    keys = ctru.arrow.generate(table, **SEEDS, **DEVICE)
    assert isinstance(keys, pa.Table)
    (batch,) = table.combine_chunks().to_batches()
    assert keys.combine_chunks().to_batches() == [ctru.arrow.generate(batch, **SEEDS, **DEVICE)]
    own = ctru.arrow.decapsulate(
        ctru.arrow.encapsulate(keys, **SEEDS, **DEVICE), shared_secret="x", **SEEDS, **DEVICE
    )
    assert own.column("x") == own.column("shared_secret") if "shared_secret" in own else own


def test_numbers_of_rows():
    numbers = [3, 4, 9, 9]
    expected = ctru.arrow.generate(
        pa.record_batch({"row": pa.array(numbers, pa.uint64())}), **SEEDS, **DEVICE
    )

    def same(column):
        keys = ctru.arrow.generate(pa.table({"row": column}), **SEEDS, **DEVICE)
        for name in ("public_key", "private_key"):
            assert keys.column(name).to_pylist() == expected.column(name).to_pylist()
        names = ["public_key"]
        assert ctru.arrow.digest(keys, names) == ctru.arrow.digest(expected, names)

    for kind in INDICES:
        column = pa.array([0, *numbers], kind)[1:]
        same(column)
        same(column.dictionary_encode())
        same(chunked(column))
        same(chunked(column.dictionary_encode()))
        same(pa.ExtensionArray.from_storage(Rows(kind), column))

    def refused(column, error, text):
        with pytest.raises(error, match=f"the column 'row' {text}"):
            ctru.arrow.generate(pa.table({"row": column}), **SEEDS, **DEVICE)

    for kind in (pa.float64(), pa.string(), pa.bool_(), pa.binary()):
        values = {pa.string(): ["1"], pa.binary(): [b"1"], pa.bool_(): [True]}.get(kind, [1])
        refused(pa.array(values, kind), TypeError, "has the type")
    with pytest.raises(ValueError, match="row 1 of the column 'row' is null"):
        ctru.arrow.generate(pa.table({"row": [1, None]}), **SEEDS, **DEVICE)
    indices = pa.array([0, 1, 0], pa.int8())
    nulls = pa.DictionaryArray.from_arrays(indices, pa.array([5, None]))
    with pytest.raises(ValueError, match="row 1 of the column 'row' is null"):
        ctru.arrow.generate(pa.table({"row": nulls}), **SEEDS, **DEVICE)


TEXTS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "string in a dictionary": pa.dictionary(pa.int8(), pa.string()),
    "list": pa.list_(pa.binary()),
    "integers": pa.int64(),
    "null": pa.null(),
    "struct": pa.struct({"a": pa.binary()}),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_other_types_are_refused(name, count, in_chunks):
    value = {"list": [b"x"], "integers": 5, "null": None, "struct": {"a": b"x"}}.get(name, "x")
    column = pa.array([value] * count, TEXTS[name])
    if in_chunks:
        column = chunked(column)
    refused(TypeError, "public_keys is an Arrow array of ", engine().encapsulate, column)
    batch = pa.table({"row": pa.array(range(count), pa.uint64()), "my key": column})
    with pytest.raises(TypeError, match="the column 'my key' is an Arrow array of "):
        ctru.arrow.encapsulate(batch, "my key", **DEVICE)
    with pytest.raises(TypeError, match="the column 'my key' is an Arrow array of "):
        ctru.arrow.digest(batch, ["my key"])


@pytest.mark.parametrize("name", TYPES)
def test_nulls(name):
    public, _ = (rows[:8] for rows in key_pairs())
    array = TYPES[name](public)
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    whole = pa.concat_arrays(chunks)
    if isinstance(whole, pa.ExtensionArray):
        whole = whole.storage
    if isinstance(whole, pa.DictionaryArray):
        indices = pa.array([*whole.indices.to_pylist()[:5], None, None], whole.indices.type)
        holes = pa.DictionaryArray.from_arrays(indices, whole.dictionary)
        values = [*whole.dictionary.to_pylist()]
        values[whole.indices[3].as_py()] = None
        values = pa.array(values, whole.dictionary.type)
        other = pa.DictionaryArray.from_arrays(whole.indices, values)
    else:
        holes = pa.array([*whole.to_pylist()[:5], None, None], whole.type)
        other = pa.array([*whole.to_pylist()[:3], None], whole.type)
    for column, row in ((holes, 5), (other, 3)):
        for made in (column, chunked(column)):
            refused(ValueError, f"row {row} of public_keys is null", engine().encapsulate, made)
            with pytest.raises(ValueError, match=f"row {row} of the column 'k' is null"):
                ctru.arrow.encapsulate(pa.table({"k": made}), "k", **DEVICE)
            with pytest.raises(ValueError, match=f"row {row - 1} of the column 'k' is null"):
                ctru.arrow.encapsulate(pa.table({"k": made}).slice(1), "k", **DEVICE)
        assert engine().encapsulate(column[:row])


def test_values_of_other_lengths():
    public, private = (rows[:4] for rows in key_pairs())
    for name, kind in VALUES.items():
        if name == "fixed":
            continue
        rows = [row.tobytes() for row in public]
        rows[2] = b"1234567"
        for made in (pa.array(rows, kind(0)), pa.array(rows, kind(0)).dictionary_encode()):
            text = "row 2 of {} has 7 bytes, not 1158"
            refused(ValueError, text.format("public_keys"), engine().encapsulate, made)
            with pytest.raises(ValueError, match=text.format("the column 'k'")):
                ctru.arrow.encapsulate(pa.table({"k": chunked(made)}), "k", **DEVICE)
            numbers = pa.array([1, 5, 6, 9], pa.uint64())
            batch = pa.table({"k": made, "row": numbers})
            with pytest.raises(ValueError, match=text.format("the column 'k'")):
                ctru.arrow.encapsulate(batch, "k", **SEEDS, **DEVICE)
            with pytest.raises(ValueError, match="row 2 of the column 'k' has 7 bytes, not 1158"):
                ctru.arrow.digest(pa.table({"k": made, "row": numbers}), ["k"])
            # The other argument of a decapsulation, too.
            batch = pa.table({"p": plain(private, pa.binary), "c": made})
            with pytest.raises(ValueError, match="row 0 of the column 'c' has 1158 bytes"):
                ctru.arrow.decapsulate(batch, "p", "c", **DEVICE)


def test_keys_that_are_none():
    public, _ = (rows[:9].copy() for rows in key_pairs())
    public[7] = 0
    for make in TYPES.values():
        refused(ctru.InvalidKey, "row 7 of public_keys", engine().encapsulate, make(public))
        numbers = pa.array([1, 2, 3, 5, 6, 7, 8, 10, 11], pa.uint64())
        batch = pa.table({"k": make(public), "row": numbers})
        with pytest.raises(ctru.InvalidKey, match="row 7 of the column 'k'"):
            ctru.arrow.encapsulate(batch, "k", **SEEDS, **DEVICE)


def test_tables_are_not_columns():
    public, _ = key_pairs()
    table = pa.table({"k": plain(public, pa.binary)})
    for whole in (table, table.to_batches()[0]):
        with pytest.raises(TypeError, match="public_keys is an Arrow array of struct, or a table"):
            engine().encapsulate(whole)


def test_arrays_that_lie():
    """Offsets, views and indices that point outside of the array."""
    rows = [bytes(1158)] * 3
    good = pa.array(rows, pa.binary())
    offsets = np.frombuffer(good.buffers()[1], np.int32).copy()
    for place, value in ((1, 3000000), (2, 1000), (2, 2**31 - 1)):
        wrong = offsets.copy()
        wrong[place] = value
        buffers = [None, pa.py_buffer(wrong.tobytes()), good.buffers()[2]]
        with pytest.raises(ValueError, match=r"row . of public_keys"):
            engine().encapsulate(pa.Array.from_buffers(pa.binary(), 3, buffers))
    good = pa.array(rows, pa.binary_view())
    views = np.frombuffer(good.buffers()[1], np.int32).copy()
    for place, value in ((0, -1), (2, 7), (2, -1), (3, -1), (3, 2**31 - 1), (0, 2**31 - 1)):
        wrong = views.copy()
        wrong[4 + place] = value
        buffers = [None, pa.py_buffer(wrong.tobytes()), *good.buffers()[2:]]
        with pytest.raises(ValueError, match="row 1 of public_keys"):
            engine().encapsulate(pa.Array.from_buffers(pa.binary_view(), 3, buffers))
    values = pa.array(rows, pa.binary())
    for kind, index in ((pa.int8(), -1), (pa.int8(), 3), (pa.uint8(), 255), (pa.int64(), 2**40)):
        indices = pa.array([0, index, 0], kind)
        wrong = pa.DictionaryArray.from_arrays(indices, values, safe=False)
        refused(ValueError, "row 1 of public_keys lies outside", engine().encapsulate, wrong)
