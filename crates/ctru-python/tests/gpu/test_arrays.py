"""Arrays of CuPy and PyTorch on a real GPU. Skipped without one."""

import contextlib
import gc
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import SETS, engine, refused, vectors

import ctru

cupy = pytest.importorskip("cupy")
try:
    cupy.zeros(1)
except cupy.cuda.runtime.CUDARuntimeError as error:
    pytest.skip(f"no GPU: {error}", allow_module_level=True)

SEEDS = {"seed": bytes(range(32)), "context": "arrays on a GPU", "first": 2**32 - 3}
#: Numbers of rows: a few, a whole chunk of the engine, and several chunks with a part of one.
COUNTS = (1, 5, 600, 8192, 20_011)

torch = None
with contextlib.suppress(ImportError):
    import torch


@pytest.fixture(scope="module")
def run():
    return ctru.Engine("761", "cuda")


def host(array):
    """Returns a copy of an array on the host."""
    return np.asarray(array.cpu()) if torch and isinstance(array, torch.Tensor) else array.get()


def same(array, rows):
    return array.shape == rows.shape and (host(array) == rows).all()


def kinds():
    """Returns functions that copy a numpy array to the GPU, by the kinds of their results."""
    made = {"cupy": cupy.asarray}
    if torch:
        made["torch"] = lambda rows: torch.from_numpy(rows.copy()).cuda()
    return made


@pytest.mark.parametrize("kind", ["cupy", "torch"])
@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_bytes_are_those_of_the_engine_on_the_cpu(set, encoding, kind):
    if kind not in kinds():
        pytest.skip("PyTorch is not installed")
    on_gpu, on_cpu = ctru.Engine(set, "cuda", encoding=encoding), engine(set, encoding)
    on_device = kinds()[kind]
    for count in COUNTS[:4] if set != "761" else COUNTS:
        public, private = on_cpu.generate(count, **SEEDS)
        made = on_gpu.generate(count, kind=kind, **SEEDS)
        assert same(made[0], public)
        assert same(made[1], private)
        secrets, ciphertexts = on_cpu.encapsulate(public, **SEEDS)
        sent = on_gpu.encapsulate(made[0], **SEEDS)
        assert same(sent[0], secrets)
        assert same(sent[1], ciphertexts)
        assert {type(part) for part in (*made, *sent)} == {type(on_device(public))}
        # One ciphertext of three is rejected.
        ciphertexts[::3, 7] ^= 1
        secrets = on_cpu.decapsulate(private, ciphertexts)
        received = on_gpu.decapsulate(on_device(private), on_device(ciphertexts))
        assert same(received, secrets)


@pytest.mark.parametrize(("set", "encoding"), SETS)
def test_vectors(set, encoding):
    found = vectors(set, encoding)
    run = ctru.Engine(set, "cuda", encoding=encoding)

    def column(name):
        return cupy.asarray(np.array([list(record[name]) for record in found], dtype=np.uint8))

    assert (run.decapsulate(column("sk"), column("ct")) == column("ss")).all()
    assert (run.decapsulate(column("sk"), column("bad_ct")) == column("bad_ss")).all()


def test_one_key_and_arrays_of_the_caller(run):
    private = ctru.PrivateKey.from_seed("761", bytes(32))
    public = private.public_key()
    expected = engine().encapsulate(public, count=700, **SEEDS)
    one = np.frombuffer(public.to_bytes(), np.uint8)
    for key in (public, public.to_bytes(), one, cupy.asarray(one), cupy.asarray(one[None])):
        out = (cupy.zeros((700, 32), np.uint8), cupy.zeros((700, 952), np.uint8))
        run.encapsulate(key, count=700, out=out, **SEEDS)
        assert same(out[0], expected[0])
        assert same(out[1], expected[1])
    own = np.frombuffer(private.to_bytes(), np.uint8)
    for key in (private, private.to_bytes(), cupy.asarray(own)):
        assert same(run.decapsulate(key, out[1]), expected[0])
    # Parts of arrays, with ciphertexts and keys at any address.
    wide = cupy.zeros(700 * 952 + 1, np.uint8)
    parts = (out[0][:500], wide[1 : 1 + 500 * 952].reshape(500, 952))
    run.encapsulate(public, count=500, out=parts, **SEEDS)
    assert same(parts[1], expected[1][:500])
    assert not wide[1 + 500 * 952 :].any()
    if torch:
        made = [torch.zeros((700, size), dtype=torch.uint8, device="cuda") for size in (32, 952)]
        run.encapsulate(cupy.asarray(one), count=700, out=tuple(made), **SEEDS)
        assert same(made[0], expected[0])
        assert same(made[1], expected[1])
    none = run.encapsulate(cupy.zeros((0, 1158), np.uint8))
    assert [part.shape for part in none] == [(0, 32), (0, 952)]


def test_cut_into_batches(run):
    whole = run.generate(3000, kind="cupy", **SEEDS)
    for start, end in itertools.pairwise((0, 1, 513, 3000)):
        here = {**SEEDS, "first": SEEDS["first"] + start}
        part = run.generate(end - start, kind="cupy", **here)
        assert all((a == b[start:end]).all() for a, b in zip(part, whole, strict=True))


@pytest.mark.parametrize("row", [0, 1, 8191, 8192, 20_010])
def test_the_first_bad_row_is_named(run, row):
    public, private = run.generate(20_011, kind="cupy", **SEEDS)
    secrets, ciphertexts = run.encapsulate(public, **SEEDS)
    for rows, place in ((public, slice(None)), (private, 0)):
        rows[-1, place] = 0 if rows is public else 0xFF
        rows[row, place] = 0 if rows is public else 0xFF
    out = (cupy.full_like(secrets, 7), cupy.full_like(ciphertexts, 7))
    with pytest.raises(ctru.InvalidKey, match=f"row {row} of public_keys is not a key: .* zero"):
        run.encapsulate(public, out=out)
    # Results of a batch that fails are wiped.
    assert not out[0].any()
    assert not out[1].any()
    out[0][:] = 7
    with pytest.raises(ctru.InvalidKey, match=f"row {row} of private_keys .* secret polynomial"):
        run.decapsulate(private, ciphertexts, out=out[0])
    assert not out[0].any()
    public[:, :] = 0xFF
    refused(ctru.InvalidKey, r"row 0 of public_keys .* canonical", run.encapsulate, public)
    refused(ctru.InvalidKey, "row 0 of public_keys", run.encapsulate, public[3], count=9)


def test_wrong_arrays(run):
    public, private = run.generate(10, kind="cupy", **SEEDS)
    secrets, ciphertexts = run.encapsulate(public, **SEEDS)
    for keys, error, match in [
        (public.view(np.int8), TypeError, "uint8"),
        (public.astype(np.uint16), TypeError, "uint8"),
        (public[:, ::-1], ValueError, "contiguous"),
        (public[::2], ValueError, "contiguous"),
        (public.T, ValueError, "contiguous"),
        (private, ValueError, "shape"),
        (public[None], ValueError, "dimensions"),
        (public[:, 1:], ValueError, "contiguous"),
    ]:
        refused(error, f"public_keys.*{match}", run.encapsulate, keys)
    with pytest.raises(ValueError, match="ciphertexts is on the host, and out is on GPU 0"):
        run.decapsulate(private, ciphertexts.get(), out=secrets)
    refused(ValueError, "private_keys is on the host", run.decapsulate, private.get(), ciphertexts)
    with pytest.raises(ValueError, match=r"out\[0\] is on the host"):
        run.encapsulate(public.get(), out=(secrets.get(), ciphertexts))
    with pytest.raises(ValueError, match="private_keys has 10 rows, ciphertexts has 9"):
        run.decapsulate(private, ciphertexts[:9])
    with pytest.raises(ValueError, match=r"out\[0\] has 10 rows"):
        run.encapsulate(public[:9], out=(secrets, ciphertexts))
    with pytest.raises(ValueError, match="shares memory"):
        run.decapsulate(private, ciphertexts, out=ciphertexts.reshape(-1)[:320].reshape(10, 32))
    askew = cupy.zeros(324, np.uint8)[4:].reshape(10, 32)
    with pytest.raises(ValueError, match="out begins at an address that is not a multiple of 8"):
        run.decapsulate(private, ciphertexts, out=askew)
    refused(ValueError, "this call takes arrays on the host", engine().encapsulate, public)
    managed = cupy.ndarray(public.shape, np.uint8, cupy.cuda.malloc_managed(public.nbytes))
    # Not all versions of CuPy say that memory is managed.
    if managed.__dlpack_device__()[0] == 13:
        refused(ValueError, r"DLPack device \(13, ", run.encapsulate, managed)
    assert same(run.decapsulate(private, ciphertexts), secrets.get())


def test_another_gpu(run):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU")
    with cupy.cuda.Device(1):
        keys = cupy.zeros((3, 1158), np.uint8)
    refused(ValueError, r"DLPack device \(2, 1\)", run.encapsulate, keys)
    other = ctru.Engine("761", "cuda:1")
    public, _ = other.generate(300, kind="cupy", **SEEDS)
    assert public.device.id == 1
    assert same(public, engine().generate(300, **SEEDS)[0])


def test_work_of_the_caller_comes_before(run):
    """Keys are written, and results are read, by a stream that is busy for a while."""
    count = 1 << 16
    keys = run.generate(count, kind="cupy", **SEEDS)
    expected = run.encapsulate(keys[0], **SEEDS)
    busy = cupy.ones((6000, 6000), np.float32)
    for stream in (cupy.cuda.Stream(), cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.ptds):
        with stream:
            public = cupy.zeros_like(keys[0])
            out = tuple(cupy.zeros_like(part) for part in expected)
            stream.synchronize()
            for _ in range(20):
                busy = cupy.matmul(busy, busy) * 1e-6
            # These wait for the products.
            public[:] = keys[0] + (busy[0, 0] * 0).astype(np.uint8)
            for part in out:
                part[:] = 7
            assert not stream.done
            run.encapsulate(public, out=out, **SEEDS)
            assert all((a == b).all() for a, b in zip(out, expected, strict=True))
            new = run.encapsulate(public, **SEEDS)
        # Results are complete for every stream.
        assert all((a == b).all() for a, b in zip(new, expected, strict=True))


def test_threads_share_an_engine(run):
    public, private = run.generate(5000, kind="cupy", **SEEDS)
    expected = run.encapsulate(public, **SEEDS)

    def work(_):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for _ in range(20):
                sent = run.encapsulate(public, **SEEDS)
                received = run.decapsulate(private, sent[1])
                assert (received == expected[0]).all()
                assert (sent[1] == expected[1]).all()
            stream.synchronize()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    # Arrays that a call writes are refused to other calls, and free after it.
    gc.collect()
    run.generate(5000, out=(public, private), **SEEDS)
