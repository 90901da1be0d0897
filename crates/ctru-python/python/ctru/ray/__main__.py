"""`python -m ctru.ray`: jobs from Parquet files to Parquet files on a cluster of Ray.

A job can be stopped at any time. The same command goes on where it stopped. When a job is done, it
writes a line of JSON to standard output: its number of rows, its digest, the seconds that it took,
and how many of them passed before the first actor was ready.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import ray

from .. import SETS
from . import _job
from ._work import Work


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    main = argparse.ArgumentParser(
        prog="python -m ctru.ray", description=__doc__, allow_abbrev=False
    )
    commands = main.add_subparsers(dest="command", required=True)

    seed = commands.add_parser("seed", help="write 32 random bytes to a new file, mode 0600")
    seed.add_argument("file", type=Path)

    keygen = commands.add_parser("keygen", help="generate public keys")
    keygen.add_argument("--count", type=int, required=True, help="number of key pairs")
    keygen.add_argument(
        "--rows-per-file", type=int, default=1 << 20, help="rows of a file (default: %(default)s)"
    )
    encaps = commands.add_parser("encaps", help="encapsulate to the keys of Parquet files")
    encaps.add_argument(
        "--keys", type=Path, required=True, help="folder with the columns row and public_key"
    )
    decaps = commands.add_parser("decaps", help="decapsulate the ciphertexts of Parquet files")
    decaps.add_argument(
        "--ciphertexts",
        type=Path,
        required=True,
        help="folder with the columns row and ciphertext, and without a seed file private_key",
    )
    for command in (keygen, encaps, decaps):
        command.add_argument("--set", choices=SETS, default="761")
        command.add_argument(
            "--encoding", choices=["mixed-radix", "packed13"], default="mixed-radix"
        )
        command.add_argument(
            "--seed-file",
            type=Path,
            required=command is keygen,
            help="file with 32 random bytes, mode 0600, at this place on every node",
        )
        command.add_argument(
            "--context", required=command is keygen, help="what the seed is used for: 32 bytes"
        )
        command.add_argument(
            "--include-secrets", action="store_true", help="write secrets to the Parquet files"
        )
        command.add_argument(
            "--out",
            type=Path,
            help="folder for the results, at this place on every node; without it, the job only "
            "counts and digests",
        )
        command.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
        command.add_argument("--actors", type=int, help="number of actors (default: all places)")
        command.add_argument("--threads", type=int, help="threads of each actor")
        command.add_argument(
            "--address",
            help="the cluster; local: a new one on this machine (default: RAY_ADDRESS, or one that "
            "was started on this machine, or a new one)",
        )
        command.add_argument("--quiet", action="store_true", help="show no progress")
    return main


def write_seed(path: Path) -> None:
    """Writes 32 random bytes to a new file that its owner alone may read."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # A file that got its name later could replace that of another command, where the file
        # system has no links. Nobody takes a shorter file for a seed.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        # Keys may depend on the seed soon, so its name must outlast a loss of power.
        try:
            os.fsync(folder)
        except OSError as error:
            # Some file systems cannot sync folders.
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
    finally:
        os.close(folder)


def run_job(args: argparse.Namespace) -> None:
    """Runs the job of a command line, and writes its result to standard output."""
    if sys.stdout is None:
        # Python prints nothing then, without an error.
        raise OSError("standard output is closed, so the result would be lost")
    operation: str = args.command
    seed_file = None if args.seed_file is None else str(args.seed_file.resolve())
    work = Work(
        operation,
        args.set,
        args.encoding,
        seed_file,
        args.context,
        args.include_secrets,
        args.device,
    )
    work.check()
    if operation == "keygen":
        job = _job.key_generation(work, args.count, args.rows_per_file, args.out)
    else:
        source = args.keys if operation == "encaps" else args.ciphertexts
        job = _job.over_files(work, source, args.out)
    if not ray.is_initialized():
        ray.init(address=args.address, log_to_driver=False, logging_level=logging.WARNING)
    start = time.monotonic()
    until_ready = _job.run(job, actors=args.actors, threads=args.threads, quiet=args.quiet)
    result = {
        "rows": job.rows(),
        "files": len(job.parts),
        "digest": f"{job.digest():064x}",
        "seconds": round(time.monotonic() - start, 3),
        "seconds_to_start": round(until_ready, 3),
    }
    print(json.dumps(result), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Returns the exit status."""
    # Nothing about a job leaves the machine unless the user has chosen so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    args = parser().parse_args(arguments)
    try:
        if args.command == "seed":
            write_seed(args.file)
        else:
            run_job(args)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
