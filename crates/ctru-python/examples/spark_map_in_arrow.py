"""Generates public keys on Spark and encapsulates to them, with `mapInArrow`.

Run with: python spark_map_in_arrow.py (needs pyspark 3.5 or later and Java)
"""

import os
import tempfile
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import ctru.arrow

ROWS = 10_000

# Each executor reads the seed on its own machine. An argument would lie in Spark's memory in clear.
SEED_FILE = os.path.join(tempfile.mkdtemp(), "seed")
with open(os.open(SEED_FILE, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
    file.write(os.urandom(32))


def seeds() -> dict:
    """Returns the arguments that derive seeds."""
    with open(SEED_FILE, "rb") as file:
        return {"seed": file.read(), "context": "spark example", "row": "id"}


def loose(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the batch with columns of the type binary, the only one that Spark knows."""
    columns = [
        column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def generate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield loose(ctru.arrow.generate(batch, private_key=None, **seeds()))


def encapsulate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sent = ctru.arrow.encapsulate(batch, shared_secret=None, **seeds())
        yield sent.select(["id", "ciphertext"])


spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
keys = spark.range(ROWS).mapInArrow(generate, "id long, public_key binary")
sent = keys.mapInArrow(encapsulate, "id long, ciphertext binary").toArrow().sort_by("id")

# The same job in this process, with the private keys that the seeds determine.
rows = pa.record_batch({"id": pa.array(range(ROWS), pa.uint64())})
expected = ctru.arrow.encapsulate(ctru.arrow.generate(rows, **seeds()), **seeds())
assert sent.column("ciphertext").to_pylist() == expected.column("ciphertext").to_pylist()
print(f"{sent.num_rows} ciphertexts of Spark equal those of one process")
spark.stop()
