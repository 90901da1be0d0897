"""Kinds of arrays: what goes in, what comes out, and what is refused."""

import array

import numpy as np
import pyarrow as pa
import pytest
from conftest import engine, key_pairs, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import ctru

PUBLIC, PRIVATE, CIPHERTEXT, SECRET = 1158, 1571, 952, 32
SEEDS = {"seed": bytes(32), "context": "arrays"}


class Tensor:
    """A tensor of another library: nothing but DLPack, with or without versions."""

    def __init__(self, content, versioned=True):
        self.content = np.ascontiguousarray(content) if content.ndim else content
        self.versioned = versioned

    def __dlpack_device__(self):
        return self.content.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned:
            if options:
                raise TypeError("this producer knows no options")
            return self.content.__dlpack__()
        return self.content.__dlpack__(**options)


def as_numpy(rows):
    return rows


def as_arrow(rows, offset=3):
    """Returns an Arrow array that begins inside its buffer."""
    before = np.zeros((offset, rows.shape[1]), dtype=np.uint8)
    content = pa.py_buffer(np.concatenate([before, rows]).tobytes())
    kind = pa.binary(rows.shape[1])
    whole = pa.FixedSizeBinaryArray.from_buffers(kind, len(rows) + offset, [None, content])
    return whole.slice(offset)


KINDS = {
    "numpy": as_numpy,
    "bytes": lambda rows: rows.tobytes(),
    "bytearray": lambda rows: bytearray(rows.tobytes()),
    "memoryview": lambda rows: memoryview(rows.tobytes()),
    "memoryview of rows": lambda rows: memoryview(np.ascontiguousarray(rows)),
    "array": lambda rows: array.array("B", rows.tobytes()),
    "arrow": as_arrow,
    "tensor": Tensor,
    "old tensor": lambda rows: Tensor(np.array(rows), versioned=False),
}


def content(result):
    """Returns the bytes of an array of any kind."""
    if isinstance(result, pa.Array):
        return b"".join(result.to_pylist())
    return bytes(result) if not isinstance(result, np.ndarray) else result.tobytes()


@settings(max_examples=150, deadline=None)
@given(
    keys=st.sampled_from(sorted(KINDS)),
    ciphertexts=st.sampled_from(sorted(KINDS)),
    start=st.integers(0, 64),
    count=st.integers(0, 64),
)
def test_every_kind_gives_the_same(keys, ciphertexts, start, count):
    run = engine()
    public, private = (rows[start : start + count] for rows in key_pairs())
    # A view of no rows has no second dimension.
    expected = run.encapsulate(public, **SEEDS)
    got = run.encapsulate(KINDS[keys](public), **SEEDS)
    assert [content(part) for part in got] == [part.tobytes() for part in expected]
    secrets = run.decapsulate(KINDS[keys](private), KINDS[ciphertexts](expected[1]))
    assert content(secrets) == expected[0].tobytes()


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("numpy", np.ndarray),
        ("bytes", bytes),
        ("bytearray", bytearray),
        ("memoryview", memoryview),
        ("memoryview of rows", memoryview),
        ("array", bytes),
        ("arrow", pa.FixedSizeBinaryArray),
        ("tensor", np.ndarray),
    ],
)
def test_the_kind_that_went_in_comes_out(kind, result):
    run = engine()
    public, private = key_pairs()
    secrets, ciphertexts = run.encapsulate(KINDS[kind](public))
    assert isinstance(secrets, result)
    assert isinstance(ciphertexts, result)
    again = run.decapsulate(KINDS[kind](private), ciphertexts)
    assert isinstance(again, result)
    assert content(again) == content(secrets)
    if kind in ("numpy", "memoryview of rows"):
        assert (secrets.shape, ciphertexts.shape) == ((64, SECRET), (64, CIPHERTEXT))
    if kind == "memoryview":
        assert secrets.shape == (64 * SECRET,)
    if kind == "arrow":
        assert (secrets.type, ciphertexts.type) == (pa.binary(SECRET), pa.binary(CIPHERTEXT))
        ciphertexts.validate(full=True)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_kinds_of_generated_keys(count):
    run = engine()
    expected = run.generate(count, **SEEDS)
    assert [part.shape for part in expected] == [(count, PUBLIC), (count, PRIVATE)]
    for kind in ("numpy", "arrow", "bytes", "bytearray", "memoryview"):
        got = run.generate(count, kind=kind, **SEEDS)
        assert [content(part) for part in got] == [part.tobytes() for part in expected]


def test_tensors_of_a_library_come_back():
    """A library with a function `from_dlpack` gets its own kind of tensor."""

    class Owned(Tensor):
        def __array_namespace__(self):
            return Library

    class Library:
        @staticmethod
        def from_dlpack(rows):
            return Owned(rows)

    public, private = key_pairs()
    secrets, ciphertexts = engine().encapsulate(Owned(public))
    assert isinstance(ciphertexts, Owned)
    again = engine().decapsulate(Owned(private), ciphertexts)
    assert (again.content == secrets.content).all()


@pytest.mark.parametrize("module", ["package.that.nobody.imports", None])
def test_tensors_of_an_unknown_library(module):
    """Results are numpy arrays, as for each library without a function `from_dlpack`."""
    unknown = type("Unknown", (Tensor,), {"__module__": module})
    secrets, _ = engine().encapsulate(unknown(key_pairs()[0]))
    assert type(secrets) is np.ndarray


def test_an_interrupt_in_an_argument():
    """It is not taken for an argument of a wrong type."""

    class Number:
        def __index__(self):
            raise KeyboardInterrupt

    refused(KeyboardInterrupt, None, lambda: engine().generate(Number()))


def test_results_into_arrays_of_the_caller():
    run = engine()
    public, private = key_pairs()
    expected = run.encapsulate(public, **SEEDS)
    outs = [
        (np.zeros((64, SECRET), np.uint8), np.zeros((64, CIPHERTEXT), np.uint8)),
        (bytearray(64 * SECRET), bytearray(64 * CIPHERTEXT)),
        (memoryview(bytearray(64 * SECRET)), np.zeros((64, CIPHERTEXT), np.uint8)),
        (Tensor(np.zeros((64, SECRET), np.uint8)), bytearray(64 * CIPHERTEXT)),
    ]
    for out in outs:
        got = run.encapsulate(public, out=out, **SEEDS)
        assert got[0] is out[0]
        assert got[1] is out[1]
        rows = [part.content if isinstance(part, Tensor) else part for part in got]
        assert [bytes(part) for part in rows] == [part.tobytes() for part in expected]
    secrets = np.empty((64, SECRET), np.uint8)
    assert run.decapsulate(private, expected[1], out=secrets) is secrets
    assert (secrets == expected[0]).all()
    keys = (np.empty((64, PUBLIC), np.uint8), np.empty((64, PRIVATE), np.uint8))
    assert run.generate(64, seed=bytes(32), context="tests", out=keys)[0] is keys[0]
    assert (keys[0] == public).all()
    assert (keys[1] == private).all()
    # A part of a larger array is contiguous as well.
    large = np.zeros((100, SECRET), np.uint8)
    run.decapsulate(private, expected[1], out=large[10:74])
    assert (large[10:74] == expected[0]).all()
    assert not large[:10].any()
    assert not large[74:].any()


def test_arrays_are_read_where_they_lie():
    """Keys are neither copied nor converted, so their array is locked during the call only."""
    public, _ = key_pairs()
    rows = bytearray(public.tobytes())
    engine().encapsulate(rows)
    rows.append(0)
    refused(ValueError, "rows of 1158", engine().encapsulate, rows)


def test_bad_arrays():
    run = engine()
    public, private = key_pairs()
    _, ciphertexts = run.encapsulate(public)

    def bad(rows, error, match):
        refused(error, match, lambda: run.encapsulate(rows))

    for dtype in (np.int8, np.uint16, np.float32, bool, np.int64):
        bad(public.astype(dtype), TypeError, "uint8")
        tensor = Tensor(public.astype(dtype))
        bad(tensor, TypeError, "uint8")
    bad(np.array([public[0].tobytes()], dtype="S1158"), TypeError, "uint8")
    # A numpy array without a buffer is not read through DLPack.
    bad(np.zeros(public.shape, "M8[s]"), TypeError, "no buffer of bytes")
    bad(np.array([None, 1]), (TypeError, ValueError), "public_keys")
    bad(public[:, :-1], ValueError, "contiguous")
    bad(public[::2], ValueError, "contiguous")
    bad(np.asfortranarray(public), ValueError, "contiguous")
    bad(np.ascontiguousarray(public[:, :-1]), ValueError, "shape")
    bad(public.reshape(-1), ValueError, "shape")
    bad(public.reshape(8, 8, PUBLIC), ValueError, "shape")
    bad(np.uint8(3), TypeError, "public_keys")
    bad(np.array(3, np.uint8), (TypeError, ValueError), "public_keys")
    bad(public.tobytes()[:-1], ValueError, "rows of 1158")
    bad(memoryview(public)[::2], ValueError, "contiguous")
    for wrong in (None, 5, "text", [1, 2], object(), {}, public.tolist()):
        bad(wrong, TypeError, "public_keys")
    bad(as_arrow(public[:, :100].copy()), ValueError, "shape")
    bad(pa.array([b"abc"]), ValueError, "row 0 of public_keys has 3 bytes, not 1158")
    bad(pa.array([1, 2]), TypeError, "fixed_size_binary")
    rows = [row.tobytes() for row in public[:20]]
    rows[11] = rows[17] = None
    nulls = pa.array(rows, pa.binary(PUBLIC))
    bad(nulls, ValueError, "row 11 of public_keys is null")
    bad(nulls.slice(12), ValueError, "row 5 of public_keys is null")
    assert run.encapsulate(nulls.slice(0, 11))
    refused(ValueError, "private_keys", lambda: run.decapsulate(private[:3], ciphertexts))
    refused(ValueError, "ciphertexts", lambda: run.decapsulate(private, ciphertexts[:, :5].copy()))


def test_arrays_that_are_more_than_their_elements():
    """A masked array says which elements count, and other classes can say anything."""

    class WithUnit(np.ndarray):
        pass

    run = engine()
    public, private = key_pairs()
    secrets, ciphertexts = run.encapsulate(public)
    one = ctru.PrivateKey.generate("761").decapsulate
    makers = {
        "MaskedArray": lambda rows: np.ma.masked_array(rows, mask=np.eye(*rows.shape)),
        "MaskedArray without a mask": np.ma.masked_array,
        "matrix": np.asmatrix,
        "recarray": lambda rows: rows.view(np.recarray),
        "WithUnit": lambda rows: rows.view(WithUnit),
    }
    calls = {
        "public_keys": lambda make: run.encapsulate(make(public)),
        "private_keys": lambda make: run.decapsulate(make(private), ciphertexts),
        "ciphertexts": lambda make: run.decapsulate(private, make(ciphertexts)),
        "out": lambda make: run.decapsulate(private, ciphertexts, out=make(secrets)),
        r"out\[1\]": lambda make: run.encapsulate(public, out=(secrets, make(ciphertexts))),
        "data": lambda make: ctru.PublicKey.from_bytes("761", make(public[:1])),
        "ciphertext": lambda make: one(make(ciphertexts[:1])),
        "seed": lambda make: run.generate(1, seed=make(secrets[:1]), context="x"),
        "context": lambda make: run.generate(1, seed=bytes(32), context=make(secrets[:1])),
    }
    for name, make in makers.items():
        for argument, call in calls.items():
            text = f"^{argument} is a {name.split()[0]}, which is more"
            refused(TypeError, text, call, make)
    assert run.encapsulate(np.asarray(makers["MaskedArray"](public)))


def test_arrays_in_files(tmp_path):
    public, _ = key_pairs()
    mapped = np.memmap(tmp_path / "keys", np.uint8, "w+", shape=public.shape)
    mapped[:] = public
    assert (
        engine().encapsulate(mapped, **SEEDS)[1] == engine().encapsulate(public, **SEEDS)[1]
    ).all()


def test_arrays_on_a_device_are_refused():
    class OnDevice(Tensor):
        def __dlpack_device__(self):
            return (2, 0)

    public, _ = key_pairs()
    with pytest.raises(ValueError, match=r"public_keys is on the DLPack device \(2, 0\)"):
        engine().encapsulate(OnDevice(public))
    refused(ValueError, "kind", engine().generate, 1, kind="cupy")


def test_bad_out():
    run = engine()
    public, private = (rows.copy() for rows in key_pairs())
    secrets, ciphertexts = run.encapsulate(public)

    def bad(out, error, match):
        refused(error, match, lambda: run.encapsulate(public, out=out))

    bad((bytes(64 * SECRET), ciphertexts), ValueError, r"out\[0\] is read-only")
    locked = ciphertexts.copy()
    locked.flags.writeable = False
    bad((secrets, locked), ValueError, r"out\[1\] is read-only")
    bad((secrets, Tensor(locked)), ValueError, r"out\[1\] is read-only")
    bad((secrets, Tensor(ciphertexts, versioned=False)), ValueError, r"out\[1\] .* before 1.0")
    bad((as_arrow(secrets), ciphertexts), ValueError, "read-only")
    bad((secrets[:63], ciphertexts), ValueError, "63 rows")
    bad((ciphertexts, secrets), ValueError, "shape")
    bad((secrets.astype(np.int16), ciphertexts), TypeError, "uint8")
    bad((secrets,), ValueError, "two")
    bad([secrets, ciphertexts], TypeError, "tuple")
    bad(secrets, TypeError, "tuple")
    bad((None, None), TypeError, "out")
    both = bytearray(64 * CIPHERTEXT)
    bad(
        (memoryview(both)[: 64 * SECRET], both), ValueError, r"out\[1\] shares memory with out\[0\]"
    )
    over = public.reshape(-1)[: 64 * SECRET].reshape(64, SECRET)
    bad((over, ciphertexts), ValueError, r"out\[0\] shares memory with public_keys")
    over = ciphertexts.reshape(-1)[: 64 * SECRET].reshape(64, SECRET)

    def call():
        run.decapsulate(private, ciphertexts, out=over)

    refused(ValueError, "out shares memory with ciphertexts", call)
    refused(ValueError, "kind and out", lambda: run.generate(1, kind="bytes", out=(b"", b"")))


@pytest.mark.parametrize("kind", ["bytes", "bytearray", "memoryview"])
def test_no_memory_for_results(kind, capfd):
    # No machine has so many addresses.
    refused(MemoryError, None, engine().generate, 2**40, kind=kind)
    assert capfd.readouterr() == ("", "")


def test_bad_arguments():
    run = engine()
    public, _ = key_pairs()
    for count in (-1, 2**64, 2**200):
        refused(ValueError, "count", lambda count=count: run.generate(count))
    for count in (1.0, "3", None):
        refused(TypeError, "count", lambda count=count: run.generate(count))
    # Python does not write so many digits.
    huge = 10**5000
    refused(ValueError, "count is not in", lambda: run.generate(huge))
    refused(ValueError, "first is not in", lambda: run.generate(1, first=huge, **SEEDS))
    refused(ValueError, "threads is not in", lambda: ctru.Engine("761", "cpu", threads=huge))
    refused(ValueError, "count is 3", lambda: run.encapsulate(public, count=3))
    refused((MemoryError, ValueError), None, lambda: run.generate(2**62))
    refused((MemoryError, ValueError), None, lambda: run.generate(2**62, kind="bytes"))
    refused(ValueError, "context", lambda: run.generate(1, seed=bytes(32)))
    refused(ValueError, "seed", lambda: run.generate(1, context="x"))
    refused(ValueError, "seed", lambda: run.generate(1, first=1))
    refused(ValueError, "32", lambda: run.generate(1, seed=bytes(31), context="x"))
    refused(ValueError, "32", lambda: run.generate(1, seed=bytes(32), context="x" * 33))
    refused(ValueError, "32", lambda: run.generate(1, seed=bytes(32), context="é" * 17))
    refused(TypeError, "seed", lambda: run.generate(1, seed="x" * 32, context="x"))
    refused(TypeError, "context", lambda: run.generate(1, seed=bytes(32), context=3))
    for first in (-1, 2**64):
        refused(ValueError, "first", lambda first=first: run.generate(1, first=first, **SEEDS))
    refused(TypeError, "first", lambda: run.generate(1, first=1.5, **SEEDS))
    refused(ValueError, "64 bits", lambda: run.generate(2, first=2**64 - 1, **SEEDS))
    assert run.generate(1, first=2**64 - 1, **SEEDS)
    for kind in ("list", "", "NUMPY"):
        refused(ValueError, "kind", lambda kind=kind: run.generate(1, kind=kind))
    refused(TypeError, "kind", lambda: run.generate(1, kind=3))
    assert issubclass(ctru.DeviceError, Exception)
