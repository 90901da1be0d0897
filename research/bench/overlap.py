"""Measures whether hashing and products gain from running at the same time on a GPU.

    python overlap.py crates/ctru-gpu-kernels/ptx/ctru.ptx DATE

Runs kernels of CTRU-Prime-761 on random data for 65,536 operations, alone and at the same time.
Needs the package cupy. Prints lines of JSON: the median time of a set of kernels in microseconds.

The hash has a stream of higher priority, and its launches have one block per multiprocessor. So a
multiprocessor hashes with one warp per scheduler and gives the rest of its registers to products.
"""

import json
import statistics
import sys

import cupy

OPERATIONS = 65536
REPETITIONS = 15
HASH_THREADS = 128
# The bytes of shared memory of `scheme::fused::shape::<R761>()`.
SHARED_BYTES = 8832
# Bytes of rows: a ciphertext, `f`, `ID(pk)`, a secret, coins and a message in whole words.
CIPHERTEXT, SMALL, ID, SECRET, COINS, MESSAGE = 952, 768, 33, 32, 384, 48


def random_bytes(count):
    """Returns an array of random bytes on the device."""
    return cupy.random.randint(0, 256, count, dtype=cupy.uint8)


def main():
    """Measures and prints."""
    path, date = sys.argv[1:]
    module = cupy.RawModule(path=path)
    device = cupy.cuda.Device()
    blocks = device.attributes["MultiProcessorCount"]
    ciphertexts = random_bytes(OPERATIONS * CIPHERTEXT)
    f = cupy.random.randint(-2, 3, OPERATIONS * SMALL, dtype=cupy.int8)
    h = cupy.random.randint(0, 4591, OPERATIONS * SMALL, dtype=cupy.uint16)
    ids, z = random_bytes(OPERATIONS * ID), random_bytes(OPERATIONS * SECRET)
    coins, messages = random_bytes(OPERATIONS * COINS), random_bytes(OPERATIONS * MESSAGE)
    decrypted = cupy.zeros_like(messages)
    # The verification does not read what the hash writes, so that both can run at the same time.
    hashed, rejection, shared = (cupy.zeros(OPERATIONS * SECRET, cupy.uint8) for _ in range(3))
    low = cupy.cuda.Stream(non_blocking=True)
    high = cupy.cuda.Stream(non_blocking=True, priority=-5)

    def launch(name, grid, threads, arrays, operations, shared_bytes=0):
        numbers = (cupy.uint32(operations), cupy.uint32(operations))
        function = module.get_function(name)
        function((grid,), (threads,), (*arrays, *numbers), shared_mem=shared_bytes)

    def product(name, *arrays):
        with low:
            launch(name, OPERATIONS, 32, arrays, OPERATIONS, SHARED_BYTES)

    def reject():
        done = 0
        with high:
            while done < OPERATIONS:
                operations = min(OPERATIONS - done, blocks * HASH_THREADS)
                rows = ((ids, ID), (z, SECRET), (ciphertexts, CIPHERTEXT), (hashed, SECRET))
                arrays = [array[done * row :] for array, row in rows]
                grid = -(-operations // HASH_THREADS)
                launch("rejection_secret_761", grid, HASH_THREADS, arrays, operations)
                done += operations

    def decrypt():
        product("fused_decrypt_761", ciphertexts, f, decrypted)

    def verify():
        product("fused_verify_761", h, coins, messages, ciphertexts, rejection, shared)

    def measure(*kernels):
        times = []
        for _ in range(REPETITIONS):
            device.synchronize()
            begin, end, rejected = (cupy.cuda.Event() for _ in range(3))
            begin.record(low)
            high.wait_event(begin)
            for kernel in kernels:
                kernel()
            rejected.record(high)
            low.wait_event(rejected)
            end.record(low)
            end.synchronize()
            times.append(1000 * cupy.cuda.get_elapsed_time(begin, end))
        return statistics.median(times)

    name = cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode()
    for kernels in [(reject,), (decrypt,), (verify,), (reject, decrypt), (reject, decrypt, verify)]:
        record = {
            "gpu": name,
            "cuda_version_of_driver": cupy.cuda.runtime.driverGetVersion(),
            "date": date,
            "operations": OPERATIONS,
            "kernels": [kernel.__name__ for kernel in kernels],
            "us": round(measure(*kernels), 1),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
