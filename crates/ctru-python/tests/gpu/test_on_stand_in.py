"""Tensors on a GPU, with a stand-in for the driver. `test_stand_in.py` runs these tests."""

import ctypes
import os
import sys
import types

import numpy as np
import pytest
from conftest import key_pairs, refused
from test_dlpack import READ_ONLY, Legacy, Tensor, Versioned

import ctru

HOW = os.environ.get("CTRU_FAKE_DRIVER")
PUBLIC, PRIVATE, CIPHERTEXT, SECRET = 1158, 1571, 952, 32
ROWS = 5

pytestmark = pytest.mark.skipif(HOW is None, reason="test_stand_in.py runs these tests")
computes_nothing = pytest.mark.skipif(HOW == "refuses-keys", reason="this driver refuses keys")
refuses_keys = pytest.mark.skipif(HOW != "refuses-keys", reason="this driver refuses no keys")


def is_current():
    """Returns whether this thread has a current context: a GPU that is the current device."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver = ctypes.CDLL("libcuda.so.1")
    return driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0


class GpuTensor(Tensor):
    """A tensor in the memory of the stand-in, which is that of the host."""

    def __init__(self, rows, layout=Versioned, named=(2, 0), interface=None, **fields):
        device = {"device_type": named[0], "device_id": named[1]}
        super().__init__(rows, layout, **{**device, **fields})
        self.named = named
        self.streams = []
        if interface is not None:
            self.__cuda_array_interface__ = {"data": interface, "version": 3}

    def __dlpack_device__(self):
        return self.named

    def __dlpack__(self, *, stream, **options):
        if isinstance(self.managed, Legacy) and options:
            raise TypeError("max_version is not known")
        assert is_current()
        self.streams.append(stream)
        return self.capsule


class CupyArray(GpuTensor):
    """An array of a package with the name of CuPy."""

    __module__ = "cupy"


@pytest.fixture(scope="module")
def run():
    run = ctru.Engine("761", "cuda")
    assert run.device == "cuda:0"
    return run


def full(size, rows=ROWS):
    return np.full((rows, size), 7, np.uint8)


def public(rows=ROWS):
    return key_pairs()[0][:rows].copy()


def private(rows=ROWS):
    return key_pairs()[1][:rows].copy()


@computes_nothing
@pytest.mark.parametrize("layout", [Versioned, Legacy])
def test_arrays_are_used_where_they_lie(run, layout):
    def results(*sizes):
        rows = [full(size) for size in sizes]
        return [GpuTensor(part, layout, interface=(part.ctypes.data, False)) for part in rows]

    used = []
    out = tuple(results(PUBLIC, PRIVATE))
    assert run.generate(ROWS, out=out) == out
    used += out
    keys, out = GpuTensor(public(), layout), tuple(results(SECRET, CIPHERTEXT))
    assert run.encapsulate(keys, out=out) == out
    used += [keys, *out]
    keys, sent = GpuTensor(private(), layout), GpuTensor(full(CIPHERTEXT), layout)
    (out,) = results(SECRET)
    assert run.decapsulate(keys, sent, out=out) is out
    used += [keys, sent, out]
    # Each is taken once, on the stream of the engine, and is free after the call.
    assert {len(tensor.streams) for tensor in used} == {1}
    (stream,) = {tensor.streams[0] for tensor in used}
    assert stream > 2
    assert {tensor.deleted for tensor in used} == {1}
    # The stand-in has copied nothing over the results, and nothing has wiped them.
    assert (out.rows == 7).all()


@computes_nothing
def test_a_key_on_the_host_serves_a_batch(run):
    of_public = ctru.PublicKey.from_bytes("761", public()[0].tobytes())
    of_private = ctru.PrivateKey.from_bytes("761", private()[0].tobytes())
    for key in (of_public, public()[0], public()[:1], public()[0].tobytes()):
        out = (GpuTensor(full(SECRET)), GpuTensor(full(CIPHERTEXT)))
        assert run.encapsulate(key, count=ROWS, out=out) == out
    out = GpuTensor(full(SECRET))
    assert run.decapsulate(of_private, GpuTensor(full(CIPHERTEXT)), out=out) is out
    one = GpuTensor(public(1))
    out = (GpuTensor(full(SECRET)), GpuTensor(full(CIPHERTEXT)))
    assert run.encapsulate(one, count=ROWS, out=out) == out
    none = (GpuTensor(full(SECRET, 0)), GpuTensor(full(CIPHERTEXT, 0)))
    assert run.encapsulate(of_public, count=0, out=none) == none


def test_arrays_in_several_places_are_refused(run):
    secrets, sent = full(SECRET), full(CIPHERTEXT)
    on_gpu = (GpuTensor(secrets), GpuTensor(sent))
    for keys, out, match in [
        (public(), on_gpu, r"public_keys is on the host, and out\[0\] is on GPU 0"),
        (GpuTensor(public()), (secrets, sent), r"public_keys is on GPU 0, and out\[0\] is on the"),
        (GpuTensor(public()), (on_gpu[0], sent), r"out\[0\] is on GPU 0, and out\[1\] is on the"),
        (public(), (secrets, on_gpu[1]), r"out\[0\] is on the host, and out\[1\] is on GPU 0"),
    ]:
        on_gpu = (GpuTensor(secrets), GpuTensor(sent))
        fresh = tuple(GpuTensor(part.rows) if isinstance(part, Tensor) else part for part in out)
        refused(ValueError, match, run.encapsulate, keys, out=fresh)
    with pytest.raises(ValueError, match="ciphertexts is on the host, and out is on GPU 0"):
        run.decapsulate(GpuTensor(private()), sent, out=GpuTensor(secrets))
    # Not even a single ciphertext.
    with pytest.raises(ValueError, match="ciphertexts is on the host, and out is on GPU 0"):
        run.decapsulate(GpuTensor(private(1)), sent[:1], out=GpuTensor(secrets[:1]))
    with pytest.raises(ValueError, match="private_keys is on GPU 0, and out is on the host"):
        run.decapsulate(GpuTensor(private()), sent)
    assert (secrets == 7).all()
    assert (sent == 7).all()


def test_other_devices_are_refused(run):
    for named, fields, match in [
        ((2, 1), {}, r"device \(2, 1\), and this call takes arrays on the host and on .* \(2, 0\)"),
        ((2, -1), {}, r"device \(2, -1\)"),
        ((13, 0), {}, r"device \(13, 0\)"),
        ((2, 0), {"device_id": 1}, r"device \(2, 1\)"),
        ((2, 0), {"device_type": 1}, "not on the device that it names"),
        ((1, 0), {"device_type": 2}, "not on the device that it names"),
    ]:
        tensor = GpuTensor(public(), named=named, **fields)
        if named[0] == 1:
            # Tensors on the host are asked for no stream.
            tensor.__class__ = Tensor
        refused(ValueError, f"public_keys.*{match}", run.encapsulate, tensor)
    on_host = ctru.Engine("761", "cpu")
    with pytest.raises(
        ValueError, match=r"device \(2, 0\), and this call takes arrays on the host"
    ):
        on_host.encapsulate(GpuTensor(public()))
    refused(ValueError, "need an engine on a GPU", on_host.generate, 1, kind="cupy")


@pytest.mark.parametrize(
    ("fields", "error", "match"),
    [
        ({"shape": [4, 3]}, ValueError, "contiguous"),
        ({"strides": [1, 4]}, ValueError, "contiguous"),
        ({"shape": [-1, PUBLIC]}, ValueError, "negative"),
        ({"shape": [ROWS, PRIVATE], "strides": [PRIVATE, 1]}, ValueError, "shape"),
        ({"data": None}, ValueError, "without data"),
        ({"code": 0}, TypeError, "uint8"),
        ({"bits": 16}, TypeError, "uint8"),
    ],
)
def test_fields_that_are_refused(run, fields, error, match):
    tensor = GpuTensor(public(), **fields)
    refused(error, f"public_keys.*{match}", run.encapsulate, tensor)
    assert tensor.deleted == 1


def test_results_that_are_refused(run):
    secrets, sent = full(SECRET), full(CIPHERTEXT)
    address = secrets.ctypes.data
    for first, match in [
        (GpuTensor(secrets, flags=READ_ONLY), "read-only"),
        (GpuTensor(secrets, Legacy), "before 1.0.*of CuPy"),
        (GpuTensor(secrets, Legacy, interface=(address, True)), "before 1.0.*of CuPy"),
        (GpuTensor(secrets, Legacy, interface=(address + 32, False)), "before 1.0.*of CuPy"),
        (GpuTensor(secrets, Legacy, interface="nonsense"), "before 1.0.*of CuPy"),
        (GpuTensor(secrets[:-1]), "has 4 rows"),
    ]:
        with pytest.raises(ValueError, match=rf"out\[0\] .*{match}"):
            run.encapsulate(GpuTensor(public()), out=(first, GpuTensor(sent)))
    wide = np.full(ROWS * SECRET + 16, 7, np.uint8)
    start = 4 + -wide.ctypes.data % 8
    askew = wide[start:][: ROWS * SECRET].reshape(ROWS, SECRET)
    with pytest.raises(ValueError, match=r"out\[0\] begins at an address that is not a multiple"):
        run.encapsulate(GpuTensor(public()), out=(GpuTensor(askew), GpuTensor(sent)))
    over = sent.reshape(-1)[: ROWS * SECRET].reshape(ROWS, SECRET)
    with pytest.raises(ValueError, match=r"out\[1\] shares memory with out\[0\]"):
        run.encapsulate(GpuTensor(public()), out=(GpuTensor(over), GpuTensor(sent)))
    refused(ValueError, "pass out", run.encapsulate, GpuTensor(public()))
    assert (secrets == 7).all()
    assert (sent == 7).all()


@computes_nothing
def test_new_arrays(run, monkeypatch):
    entered = []

    class Device:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            entered.append(self.number)

        def __exit__(self, *_):
            entered.append("left")

    def empty(shape, dtype):
        assert is_current()
        rows = np.zeros(shape, dtype)
        return CupyArray(rows, Legacy, interface=(rows.ctypes.data, False))

    monkeypatch.setitem(sys.modules, "cupy", None)
    refused(ImportError, "need the package cupy", run.generate, ROWS, kind="cupy")
    cupy = types.ModuleType("cupy")
    cupy.empty, cupy.cuda = empty, types.SimpleNamespace(Device=Device)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    made = run.generate(ROWS, kind="cupy")
    assert [part.rows.shape for part in made] == [(ROWS, PUBLIC), (ROWS, PRIVATE)]
    made = run.encapsulate(CupyArray(public()))
    assert [part.rows.shape for part in made] == [(ROWS, SECRET), (ROWS, CIPHERTEXT)]
    made = run.decapsulate(CupyArray(private()), CupyArray(full(CIPHERTEXT)))
    assert made.rows.shape == (ROWS, SECRET)
    assert type(made) is CupyArray
    assert entered == [0, "left"] * 5
    assert not is_current()


@computes_nothing
def test_exceptions_of_other_packages(run, monkeypatch):
    class Broken(GpuTensor):
        def __dlpack__(self, *, stream, **options):
            raise BufferError("another device")

    with pytest.raises(ValueError, match=r"public_keys .*DLPack: BufferError: another") as raised:
        run.encapsulate(Broken(public()))
    assert isinstance(raised.value.__cause__, BufferError)

    class Interrupted(GpuTensor):
        def __dlpack__(self, *, stream, **options):
            raise KeyboardInterrupt

    refused(KeyboardInterrupt, None, run.encapsulate, Interrupted(public()))
    assert not is_current()


@computes_nothing
def test_keys_on_the_host_wait_for_no_other_stream(run):
    waits = ctypes.CDLL("libcuda.so.1").ctru_context_waits

    def call():
        out = (GpuTensor(full(SECRET)), GpuTensor(full(CIPHERTEXT)))
        run.encapsulate(public()[0], count=ROWS, out=out)
        sent = GpuTensor(full(CIPHERTEXT))
        run.decapsulate(private()[0], sent, out=GpuTensor(full(SECRET)))

    call()
    before = waits()
    for _ in range(3):
        call()
    assert waits() == before


@computes_nothing
def test_keys_from_the_host_are_wiped(run):
    holds = ctypes.CDLL("libcuda.so.1").ctru_holds
    holds.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    key = private()[-1]
    part = key[100:164].tobytes()
    run.decapsulate(key, GpuTensor(full(CIPHERTEXT)), out=GpuTensor(full(SECRET)))
    assert not holds(part, len(part))


@refuses_keys
def test_bad_rows_are_named_and_results_are_wiped(run):
    secrets, sent = full(SECRET), full(CIPHERTEXT)
    out = (GpuTensor(secrets), GpuTensor(sent))
    refused(ctru.InvalidKey, "row 4 of public_keys", run.encapsulate, GpuTensor(public()), out=out)
    assert not secrets.any()
    assert not sent.any()
    secrets[:] = 7
    with pytest.raises(ctru.InvalidKey, match="row 4 of private_keys"):
        run.decapsulate(GpuTensor(private()), GpuTensor(full(CIPHERTEXT)), out=GpuTensor(secrets))
    assert not secrets.any()
    # A single key is row 0 in each chunk.
    out = (GpuTensor(full(SECRET)), GpuTensor(full(CIPHERTEXT)))
    with pytest.raises(ctru.InvalidKey, match="row 0 of public_keys"):
        run.encapsulate(GpuTensor(public(1)), count=ROWS, out=out)
    assert not out[0].rows.any()


@refuses_keys
@pytest.mark.parametrize(("rows", "first"), [(1025, 256), (10_000, 1280), (20_000, 2048)])
def test_the_gpu_checks_large_batches_on_the_host(run, rows, first):
    # The first chunk into which the engine cuts the batch has this size, and the stand-in refuses
    # the last row of each chunk. The first of these rows is named.
    row = first - 1
    keys = np.repeat(public(1), rows, axis=0)
    secrets, sent = full(SECRET, rows), full(CIPHERTEXT, rows)
    with pytest.raises(ctru.InvalidKey, match=f"row {row} of public_keys"):
        run.encapsulate(keys, out=(secrets, sent))
    assert not secrets.any()
    assert not sent.any()
    secrets[:] = 7
    keys = np.repeat(private(1), rows, axis=0)
    refused(ctru.InvalidKey, f"row {row} of private_keys", run.decapsulate, keys, sent, out=secrets)
    assert not secrets.any()
