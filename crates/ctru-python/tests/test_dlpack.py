"""Tensors field by field, as other libraries could make them: what is taken and what is refused."""

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from conftest import engine, key_pairs, refused

PUBLIC, CIPHERTEXT, SECRET = 1158, 952, 32
SEEDS = {"seed": bytes(32), "context": "dlpack"}

READ_ONLY, IS_COPIED = 1, 2

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Content(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    name = b"dltensor"
    _fields_ = [
        ("tensor", Content),
        ("manager", ctypes.c_void_p),
        ("deleter", Deleter),
    ]


class Versioned(ctypes.Structure):
    name = b"dltensor_versioned"
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Content),
    ]


class Tensor:
    """A tensor over the memory of a numpy array, with some fields changed."""

    def __init__(self, rows, layout=Versioned, major=1, flags=0, deleter=True, **fields):
        self.rows = rows
        self.deleted = 0
        self.lengths = (ctypes.c_int64 * 8)(*rows.shape)
        self.strides = (ctypes.c_int64 * 8)(*rows.strides)
        self.managed = layout()
        if layout is Versioned:
            self.managed.major, self.managed.minor, self.managed.flags = major, 3, flags
        # The layout before 1.0 has neither versions nor flags.
        if deleter:
            self.managed.deleter = Deleter(self.delete)
        self.managed.tensor = Content(
            data=rows.ctypes.data,
            device_type=1,
            ndim=rows.ndim,
            code=1,
            bits=8,
            lanes=1,
            shape=self.lengths,
            strides=self.strides,
        )
        for field, value in fields.items():
            if isinstance(value, list):
                value = (ctypes.c_int64 * 8)(*value)
            setattr(self.managed.tensor, field, value)
        address = ctypes.addressof(self.managed)
        self.capsule = python.PyCapsule_New(address, layout.name, None)

    def delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def is_taken(self):
        used = b"used_" + type(self.managed).name
        return bool(python.PyCapsule_IsValid(self.capsule, used))

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, max_version=None):
        return self.capsule


def rows():
    return key_pairs()[0][:4].copy()


@pytest.mark.parametrize("layout", [Versioned, Legacy])
@pytest.mark.parametrize("deleter", [True, False])
def test_a_tensor_is_read_and_freed_once(layout, deleter):
    expected = engine().encapsulate(rows(), **SEEDS)[1]
    tensor = Tensor(rows(), layout, deleter=deleter)
    got = engine().encapsulate(tensor, **SEEDS)[1]
    assert (got == expected).all()
    assert tensor.is_taken()
    assert tensor.deleted == deleter
    # A capsule can be used once.
    refused(ValueError, r"PyCapsule of public_keys .* has been used", engine().encapsulate, tensor)
    assert tensor.deleted == deleter


def read_at_once(array):
    """Reads an array in four threads. Returns the results and the errors."""
    together = threading.Barrier(4)

    def read():
        together.wait()
        return engine().encapsulate(array, **SEEDS)[1]

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(read) for _ in range(4)]
    errors = [str(call.exception()) for call in calls if call.exception()]
    return [call.result() for call in calls if not call.exception()], errors


@pytest.mark.parametrize("layout", [Versioned, Legacy])
def test_threads_that_share_a_capsule(layout):
    """One of them takes the tensor. Without the GIL, two could have freed it."""
    expected = engine().encapsulate(rows(), **SEEDS)[1]
    for _ in range(50):
        tensor = Tensor(rows(), layout)
        (got,), errors = read_at_once(tensor)
        assert (got == expected).all()
        assert all("has been used" in error for error in errors)
        assert tensor.deleted == 1


def test_threads_that_share_an_array_of_arrow():
    expected = engine().encapsulate(rows(), **SEEDS)[1].tobytes()
    array = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(PUBLIC), 4, [None, pa.py_buffer(rows().tobytes())]
    )

    class Shared:
        def __init__(self):
            self.capsules = array.__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.capsules

    for _ in range(50):
        (got,), errors = read_at_once(Shared())
        assert b"".join(got.to_pylist()) == expected
        assert all("has been released" in error for error in errors)


def test_fields_that_are_honoured():
    expected = engine().encapsulate(rows(), **SEEDS)[1]
    wide = np.concatenate([rows(), rows()])

    def same(tensor):
        got = engine().encapsulate(tensor, **SEEDS)[1]
        assert (got == expected).all()
        assert tensor.deleted == 1

    same(Tensor(rows(), strides=None))
    same(Tensor(rows(), flags=READ_ONLY))
    same(Tensor(rows(), flags=IS_COPIED))
    same(Tensor(rows(), device_type=3, device_id=1))
    same(Tensor(wide, byte_offset=4 * PUBLIC, shape=[4, PUBLIC]))
    one = Tensor(rows(), ndim=1, shape=[PUBLIC], strides=[1])
    assert (engine().encapsulate(one, **SEEDS)[1] == expected[:1]).all()
    # Strides of a dimension with one element have no meaning.
    one = Tensor(rows(), shape=[1, PUBLIC], strides=[7, 1])
    assert (engine().encapsulate(one, **SEEDS)[1] == expected[:1]).all()
    none = Tensor(rows(), shape=[0, PUBLIC], data=None, byte_offset=3)
    assert engine().encapsulate(none)[1].shape == (0, CIPHERTEXT)


@pytest.mark.parametrize(
    ("fields", "error", "match"),
    [
        ({"shape": None}, ValueError, "without its shape"),
        ({"shape": None, "strides": None}, ValueError, "without its shape"),
        ({"shape": [-1, PUBLIC]}, ValueError, "negative"),
        ({"shape": [4, -PUBLIC]}, ValueError, "negative"),
        ({"shape": [2**62, PUBLIC], "strides": None}, ValueError, "too large"),
        ({"shape": [4, 3]}, ValueError, "contiguous"),
        ({"strides": [1, 4]}, ValueError, "contiguous"),
        ({"strides": [-PUBLIC, 1]}, ValueError, "contiguous"),
        ({"strides": [0, 0]}, ValueError, "contiguous"),
        ({"ndim": -1}, ValueError, "-1 dimensions"),
        ({"ndim": 3}, ValueError, "3 dimensions"),
        ({"ndim": 2**31 - 1}, ValueError, "dimensions"),
        ({"ndim": 0}, ValueError, "shape"),
        ({"data": None}, ValueError, "without data"),
        ({"code": 0}, TypeError, "uint8"),
        ({"code": 6}, TypeError, "uint8"),
        ({"bits": 16}, TypeError, "uint8"),
        ({"lanes": 4}, TypeError, "uint8"),
        ({"device_type": 2}, ValueError, r"device \(2, 0\)"),
        ({"device_type": 13}, ValueError, r"device \(13, 0\)"),
    ],
)
@pytest.mark.parametrize("layout", [Versioned, Legacy])
def test_fields_that_are_refused(layout, fields, error, match):
    tensor = Tensor(rows(), layout, **fields)
    refused(error, f"public_keys.*{match}", engine().encapsulate, tensor)
    assert tensor.deleted == 1


def test_another_version_is_left_alone():
    tensor = Tensor(rows(), major=2)
    refused(ValueError, r"public_keys has version 2\.3 of DLPack", engine().encapsulate, tensor)
    assert not tensor.is_taken()
    assert tensor.deleted == 0


def test_tensors_for_results():
    def call(*out):
        engine().encapsulate(rows(), out=out, **SEEDS)

    expected = engine().encapsulate(rows(), **SEEDS)
    parts = [np.full((4, size), 7, np.uint8) for size in (SECRET, CIPHERTEXT)]
    call(*map(Tensor, parts))
    assert all((got == wanted).all() for got, wanted in zip(parts, expected, strict=True))
    parts = [np.full((4, size), 7, np.uint8) for size in (SECRET, CIPHERTEXT)]
    for options, match in [
        ({"flags": READ_ONLY}, "read-only"),
        ({"flags": IS_COPIED}, "copies"),
        ({"flags": READ_ONLY | IS_COPIED}, "read-only"),
        ({"layout": Legacy}, "before 1.0"),
    ]:
        tensor = Tensor(parts[1], **options)
        refused(ValueError, rf"out\[1\] .*{match}", call, parts[0], tensor)
        assert tensor.deleted == 1
    assert all((part == 7).all() for part in parts)
