"""Encapsulates on all GPUs of a cluster of Ray, counts and digests, without files.

    python ray_rates.py [--gpus N] [--rows N] [--part N] [--batch N] [--at-once N]

Each GPU has an actor, which makes its public keys once. An actor does several parts at a time, so
that one is digested while another is computed. Prints a line of JSON: the rows, the seconds, and
how many of them passed before all actors were ready. Then checks the digest of the first part on
the CPU.
"""

import argparse
import json
import time

import numpy as np
import pyarrow as pa
import ray

import ctru
import ctru.arrow

SET = "761"
SEED = {"seed": bytes(32), "context": "ray_rates"}


class Encapsulator:
    """Encapsulates to the same keys again and again, with another seed for each row."""

    def __init__(self, device: str, batch: int) -> None:
        self._device = device
        self._batch = batch
        keys, _ = ctru.Engine(SET, device).generate(batch, **SEED)
        self._keys = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(keys.shape[1]), batch, [None, pa.py_buffer(keys)]
        )

    def ready(self) -> None:
        """Returns when the keys are made."""

    def part(self, first: int, rows: int) -> tuple[int, int]:
        """Returns the number of rows of a part, and its digest."""
        total = 0
        for start in range(first, first + rows, self._batch):
            numbers = pa.array(np.arange(start, start + self._batch, dtype=np.uint64))
            batch = pa.RecordBatch.from_arrays([numbers, self._keys], ["row", "public_key"])
            sent = ctru.arrow.encapsulate(
                batch, set=SET, device=self._device, shared_secret="shared_secret", **SEED
            )
            total += ctru.arrow.digest(sent, ["ciphertext", "shared_secret"])
        return rows, total % 2**256


def main() -> None:
    """Runs the parts on all actors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=1, help="0: one actor on the CPU")
    parser.add_argument("--rows", type=int, default=50 << 20, help="rows of each actor")
    parser.add_argument("--part", type=int, default=1 << 20, help="rows of a part")
    parser.add_argument("--batch", type=int, default=1 << 17, help="rows of a batch, and keys")
    parser.add_argument("--at-once", type=int, default=6, help="parts at a time of an actor")
    args = parser.parse_args()
    device = "cuda" if args.gpus else "cpu"
    actors = max(args.gpus, 1)
    ray.init(address="local", num_gpus=args.gpus, log_to_driver=False, include_dashboard=False)
    start = time.monotonic()
    remote = ray.remote(Encapsulator).options(
        num_gpus=1 if args.gpus else 0, num_cpus=0, max_concurrency=args.at_once
    )
    all_actors = [remote.remote(device, args.batch) for _ in range(actors)]
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
    assert Encapsulator("cpu", args.batch).part(0, args.part) == results[0], (
        "the CPU has another digest"
    )
    ray.shutdown()


if __name__ == "__main__":
    main()
