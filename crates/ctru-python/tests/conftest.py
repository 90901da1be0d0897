"""What several tests share: parameter sets, engines and test vectors."""

from __future__ import annotations

import json
import os
import signal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ctru

# A shell starts programs in the background with this signal ignored. Tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Ray, also that of examples in other processes, would start workers that no test needs.
os.environ["RAY_prestart_worker_first_driver"] = "0"  # noqa: SIM112

ROOT = Path(__file__).resolve().parents[3]
CTRU_PRIME = [(set, code) for set in ("653", "761", "1277") for code in ("mixed-radix", "packed13")]
SETS = CTRU_PRIME + [(set, "mixed-radix") for set in ctru.SETS if set.startswith("sntrup")]


@cache
def engine(set: Any = "761", encoding: Any = "mixed-radix", threads: int = 2) -> ctru.Engine:
    """Returns an engine on the CPU. Tests share it."""
    return ctru.Engine(set, "cpu", encoding=encoding, threads=threads)


@cache
def key_pairs(set: Any = "761", encoding: Any = "mixed-radix", count: int = 64) -> Any:
    """Returns the public and the private keys of a few rows, as read-only numpy arrays."""
    arrays = engine(set, encoding).generate(count, seed=bytes(32), context="tests")
    for array in arrays:
        array.flags.writeable = False
    return arrays


def refused(error: Any, match: str | None, call: Any, *arguments: Any, **options: Any) -> None:
    """Checks that a call raises an exception whose text matches."""
    with pytest.raises(error, match=match):
        call(*arguments, **options)


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    """Returns the records of a file of test vectors, with bytes instead of hex digits."""

    def value(key: str, text: Any) -> Any:
        return text if key in ("set", "n", "pk_encoding", "op") else bytes.fromhex(text)

    with (folder / name).open() as file:
        return [{key: value(key, text) for key, text in json.loads(line).items()} for line in file]


def vectors(set: str, encoding: str) -> list[dict[str, Any]]:
    """Returns the test vectors of a parameter set, of this repository and of a folder beside it."""
    own = set.startswith("sntrup")
    name = f"{set}.jsonl" if own else f"ctru-prime-{set}-{encoding}.jsonl"
    folders = [ROOT / "tests/vectors", ROOT / ("../shared/sntrup" if own else "../shared/kat")]
    found = [folder for folder in folders if (folder / name).exists()]
    assert folders[0] in found
    return [record for folder in found for record in records(folder, name)]
