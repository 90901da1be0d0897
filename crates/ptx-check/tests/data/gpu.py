"""Runs the kernels of this folder on a GPU and by `ptx-check run`, and compares all results.

    python gpu.py PTX-CHECK            all kernels without a fault
    python gpu.py PTX-CHECK NAME...    these, also those with a planted fault, on the GPU only

Needs an NVIDIA GPU, cupy and numpy. Results are the same to the last bit, except for functions that
PTX lets the hardware approximate, where the largest relative error is printed. Run the second form
under compute-sanitizer.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import cupy
import numpy as np

here = pathlib.Path(__file__).parent
random = np.random.default_rng(1)
#: Kernels that call functions that the hardware approximates.
APPROXIMATE = {"softmax", "triton_softmax", "approximations"}


def ints(count, below, dtype=np.int32):
    return random.integers(0, below, count).astype(dtype)


def floats(count, dtype=np.float32):
    return (random.random(count) * 8 - 4).astype(dtype)


def wholes(count, dtype=np.float32):
    """Numbers whose sums are exact, so that their order does not count."""
    return random.integers(-4, 5, count).astype(dtype)


class New:
    """Memory that the kernel writes wholly."""

    def __init__(self, count, dtype):
        self.count, self.dtype = count, dtype


class Update:
    """Memory that the kernel reads and writes."""

    def __init__(self, array):
        self.array = array


def cases():
    """Yields name, file, kernel, grid, block, bytes of shared memory and arguments."""
    cuda, features = "cuda/kernels.ptx", "cuda/features.ptx"
    u32, i32, f32, f16, u64 = np.uint32, np.int32, np.float32, np.float16, np.uint64

    def of(file, name, grid, block, shared, *arguments, kernel=None):
        return name, file, kernel or name, grid, block, shared, arguments

    yield of(cuda, "reduction", (3,), (128,), 0, wholes(1000), Update(np.zeros(1, f32)), i32(1000))
    yield of(cuda, "histogram", (4,), (96,), 0,
             ints(3000, 256, np.uint8), Update(np.zeros(256, u32)), i32(3000))
    yield of(cuda, "product", (3, 3), (16, 16), 0,
             floats(2304), floats(2304), New(2304, f32), i32(48))
    yield of(cuda, "matrix_unit", (1,), (32,), 0, wholes(256, f16), wholes(128, f16), New(128, f32))
    yield of(cuda, "scan", (2,), (128,), 512, ints(256, 1000), New(256, i32))
    yield of(cuda, "transposition", (3, 2), (16, 16), 0,
             floats(960), New(960, f32), i32(40), i32(24))
    yield of(cuda, "softmax", (2,), (128,), 0, floats(256), New(256, f32))
    yield of(cuda, "stencil", (4,), (64,), 272, floats(200), New(200, f32), i32(200))
    yield of(features, "calls", (1,), (32,), 0,
             np.arange(-10, 22, dtype=i32), New(64, i32), Update(np.full(1, 5, i32)))
    yield of(features, "generic", (1,), (64,), 0, Update(ints(64, 1000)))
    yield of(features, "jumps", (1,), (64,), 0, ints(64, 1 << 20), Update(np.ones(64, i32)))
    yield of(features, "halves", (1,), (32,), 0,
             floats(32, f16), floats(32, f16), New(128, f16), New(64, np.uint16), New(64, f32))
    yield of(features, "roundings", (1,), (32,), 0,
             np.abs(floats(64)), np.abs(floats(64, np.float64)),
             New(768, f32), New(640, np.float64))
    yield of(features, "carries", (1,), (32,), 0,
             random.integers(0, 1 << 64, 64, dtype=u64), New(64, u64))
    yield of(features, "atomics", (1,), (32,), 0,
             Update(np.zeros(3, i32)), Update(np.array([2**32 - 1, 0, 0, 0, 0, 1000, 0], u32)),
             Update(np.zeros(3, u64)), Update(np.ones(1, f32)), Update(np.ones(1)),
             Update(np.zeros(2, f16)))
    yield of(features, "votes", (1,), (64,), 0, np.arange(64, dtype=i32) % 6, New(1024, u32))
    yield of(features, "named_barriers", (1,), (128,), 0, ints(256, 1000), New(256, i32))
    yield of(features, "approximations", (1,), (32,), 0,
             np.arange(1, 33, dtype=f32) / 5, New(256, f32))
    unused = Update(np.zeros(1, u64)), Update(np.zeros(1, u64))
    yield of("triton/softmax.ptx", "triton_softmax", (3,), (128,), 16,
             floats(600), New(600, f32), i32(200), *unused, kernel="softmax")
    yield of("triton/product.ptx", "triton_product", (2, 2), (128,), 4096,
             wholes(4096, f16), wholes(4096, f16), New(4096, f32), *unused, kernel="product")
    yield of("triton/counts.ptx", "triton_counts", (4,), (128,), 0,
             ints(500, 16), Update(np.zeros(16, i32)), i32(500), *unused, kernel="counts")


def planted():
    """Yields the same of the kernels with a fault."""
    cuda, i32 = "cuda/kernels.ptx", np.int32
    for name, outputs in (("planted_race", 1), ("missing_barrier", 64), ("divergent_barrier", 64)):
        yield name, cuda, name, (1,), (64,), 256, (ints(64, 100), New(outputs, i32))
    arrays = ints(100, 9), ints(100, 9), New(100, i32)
    yield "planted_bounds", cuda, "planted_bounds", (2,), (64,), 0, (*arrays, i32(100))


def on_gpu(file, kernel, grid, block, shared, arguments):
    """Returns the arrays that the kernel writes."""
    # The compiler may be newer than the driver. Nothing here is newer than PTX 8.8.
    text = re.sub(r"(?m)^\.version .*", ".version 8.8", (here / file).read_text())
    # The section with the names of inlined functions is not in the file.
    text = re.sub(r", function_name [^/\n]*", " ", text)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
        ptx.write(text)
        ptx.flush()
        function = cupy.RawModule(path=ptx.name).get_function(kernel)
    given, results = [], []
    for argument in arguments:
        if isinstance(argument, New):
            # What is not written differs from what the other run leaves.
            content = np.frombuffer(b"\xa5" * argument.count * np.dtype(argument.dtype).itemsize,
                                    argument.dtype)
            given.append(cupy.asarray(content))
            results.append(given[-1])
        elif isinstance(argument, Update):
            given.append(cupy.asarray(argument.array))
            results.append(given[-1])
        elif argument.ndim:
            given.append(cupy.asarray(argument))
        else:
            given.append(argument)
    function(grid, block, tuple(given), shared_mem=shared)
    cupy.cuda.Device().synchronize()
    return [cupy.asnumpy(result) for result in results]


def on_cpu(program, file, kernel, grid, block, shared, arguments):
    """Returns the same by `ptx-check run`."""
    with tempfile.TemporaryDirectory() as folder:
        given, results = [], []
        for number, argument in enumerate(arguments):
            source, result = f"{folder}/{number}.bin", f"{folder}/{number}.out"
            if isinstance(argument, New):
                size = argument.count * np.dtype(argument.dtype).itemsize
                given.append(f"new:u8[{size}]:{result}")
                results.append((result, argument.dtype))
            elif isinstance(argument, Update):
                argument.array.tofile(source)
                given.append(f"update:{source}:{result}")
                results.append((result, argument.array.dtype))
            elif argument.ndim:
                argument.tofile(source)
                given.append(f"read:{source}")
            else:
                given.append(str(argument))
        shape = ["--grid", ",".join(map(str, grid)), "--block", ",".join(map(str, block))]
        command = [program, "run", here / file, "--kernel", kernel, *shape,
                   "--shared", str(shared), *given]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return [np.fromfile(path, dtype) for path, dtype in results]


def relative_error(expected, actual):
    """Returns the largest relative error, where not both numbers are the same or no number."""
    a, b = expected.astype(float), actual.astype(float)
    differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(differ, np.abs(a - b) / np.abs(a), 0)
    return float(np.max(np.nan_to_num(error, nan=np.inf)))


def main():
    program, *names = sys.argv[1:]
    # Each array gets memory of its own, so that compute-sanitizer knows where it ends.
    cupy.cuda.set_allocator(None)
    if names:
        for name, *case in (*cases(), *planted()):
            if name in names:
                on_gpu(*case)
        return
    failed = 0
    for name, *case in cases():
        expected, actual = on_gpu(*case), on_cpu(program, *case)
        if name in APPROXIMATE:
            error = max(map(relative_error, expected, actual))
            says, is_right = f"largest relative error {error:.1e}", error < 1e-5
        else:
            is_right = all(a.tobytes() == b.tobytes() for a, b in zip(expected, actual))
            says = "the same" if is_right else "DIFFERENT"
        failed += not is_right
        print(f"{name:16} {says}")
    print(f"{failed} of {len(list(cases()))} differ")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
