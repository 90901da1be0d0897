"""Encapsulates on all GPUs of a machine by Ray, counts and digests, without files.

    python ray_rates.py [--gpus N] [--cores N] [--rows N] [--part N] [--batch N] [--at-once N]

Each GPU has an actor and as many cores of the host as every other actor. An actor makes its public
keys once, and they stay on the GPU. It does several parts at a time, so that one is digested while
another is computed. Prints a line of JSON: the rows, the seconds, and how many of them passed
before all actors were ready. Then checks the digest of the first part on the CPU.

Needs CuPy, except on the CPU.
"""

import argparse
import json
import os
import time
from typing import Any

import numpy as np
import pyarrow as pa
import ray

import ctru
import ctru.arrow

SET = "761"
SEED = {"seed": bytes(32), "context": "ray_rates"}


def column(rows: np.ndarray) -> pa.Array:
    """Returns an array of Arrow over the same memory."""
    count, size = rows.shape
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), count, [None, pa.py_buffer(rows)])


class Encapsulator:
    """Encapsulates to the same keys again and again, with another seed for each row."""

    def __init__(self, device: str, batch: int, cores: list[int]) -> None:
        self._cores = cores
        self._take_cores()
        self._batch = batch
        self._is_gpu = device != "cpu"
        self._engine = ctru.Engine(SET, device)
        kind = "cupy" if self._is_gpu else "numpy"
        self._keys, _ = self._engine.generate(batch, kind=kind, **SEED)

    def _take_cores(self) -> None:
        """Restricts the calling thread, and threads that it starts, to the cores of this actor."""
        os.sched_setaffinity(0, self._cores)

    def ready(self) -> None:
        """Returns when the keys are made."""

    def part(self, first: int, rows: int) -> tuple[int, int]:
        """Returns the number of rows of a part, and its digest."""
        self._take_cores()
        sizes = ctru.parameters(SET)
        lengths = [sizes.shared_secret_bytes, sizes.ciphertext_bytes]
        on_host = [self._memory(length) for length in lengths]
        total = 0
        for start in range(first, first + rows, self._batch):
            self._encapsulate(start, on_host)
            numbers = pa.array(np.arange(start, start + self._batch, dtype=np.uint64))
            results = [numbers, *map(column, on_host)]
            batch = pa.RecordBatch.from_arrays(results, ["row", "shared_secret", "ciphertext"])
            total += ctru.arrow.digest(batch, ["ciphertext", "shared_secret"])
        return rows, total % 2**256

    def _memory(self, length: int) -> Any:
        """Returns rows on the host, in memory that the GPU can write directly if there is one."""
        shape = (self._batch, length)
        if not self._is_gpu:
            return np.empty(shape, np.uint8)
        import cupyx

        return cupyx.empty_pinned(shape, np.uint8)

    def _encapsulate(self, start: int, on_host: list[Any]) -> None:
        """Encapsulates a batch, and writes shared secrets and ciphertexts to memory of the host."""
        if not self._is_gpu:
            self._engine.encapsulate(self._keys, first=start, out=tuple(on_host), **SEED)
            return
        import cupy

        # Threads with a stream each do not wait for one another.
        with cupy.cuda.Stream(non_blocking=True) as stream:
            on_device = self._engine.encapsulate(self._keys, first=start, **SEED)
            for device, host in zip(on_device, on_host, strict=True):
                device.get(out=host, stream=stream, blocking=False)
            stream.synchronize()


def main() -> None:
    """Runs the parts on all actors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=1, help="0: one actor on the CPU")
    parser.add_argument("--cores", type=int, help="cores of each actor [default: an equal share]")
    parser.add_argument("--rows", type=int, default=50 << 20, help="rows of each actor")
    parser.add_argument("--part", type=int, default=1 << 20, help="rows of a part")
    parser.add_argument("--batch", type=int, default=1 << 17, help="rows of a batch, and keys")
    parser.add_argument("--at-once", type=int, default=6, help="parts at a time of an actor")
    args = parser.parse_args()
    device = "cuda" if args.gpus else "cpu"
    actors = max(args.gpus, 1)
    all_cores = sorted(os.sched_getaffinity(0))
    cores = args.cores or len(all_cores) // actors
    if not 0 < cores * actors <= len(all_cores):
        parser.error(f"{actors} actors with {cores} cores each do not fit {len(all_cores)} cores")
    ray.init(address="local", num_gpus=args.gpus, log_to_driver=False, include_dashboard=False)
    start = time.monotonic()
    remote = ray.remote(Encapsulator).options(
        num_gpus=1 if args.gpus else 0, num_cpus=0, max_concurrency=args.at_once
    )
    all_actors = [
        remote.remote(device, args.batch, all_cores[number * cores : (number + 1) * cores])
        for number in range(actors)
    ]
    ray.get([actor.ready.remote() for actor in all_actors])
    ready = time.monotonic()
    parts = range(0, actors * args.rows, args.part)
    results = ray.get(
        [
            all_actors[number % actors].part.remote(first, args.part)
            for number, first in enumerate(parts)
        ]
    )
    end = time.monotonic()
    rows = sum(rows for rows, _ in results)
    digest = sum(digest for _, digest in results) % 2**256
    print(
        json.dumps(
            {
                "gpus": args.gpus,
                "cores": cores,
                "rows": rows,
                "batch": args.batch,
                "at_once": args.at_once,
                "seconds": end - start,
                "seconds_to_start": ready - start,
                "rows_per_s": rows / (end - ready),
                "digest": f"{digest:064x}",
            }
        ),
        flush=True,
    )
    assert Encapsulator("cpu", args.batch, all_cores).part(0, args.part) == results[0], (
        "the CPU has another digest"
    )
    ray.shutdown()


if __name__ == "__main__":
    main()
