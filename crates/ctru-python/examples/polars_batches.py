"""Encapsulates to the public keys of a Polars data frame.

Run with: python polars_batches.py
"""

import polars as pl
import pyarrow as pa

import ctru.arrow

ROWS = 1000

rows = pa.record_batch({"row": pa.array(range(ROWS), pa.uint64())})
keys = pl.DataFrame(ctru.arrow.generate(rows))


def encapsulate(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns `ciphertext` and `shared_secret` to a data frame."""
    return pl.from_arrow(ctru.arrow.encapsulate(frame.to_arrow()))


sent = keys.lazy().map_batches(encapsulate, validate_output_schema=False).collect()
received = pl.from_arrow(ctru.arrow.decapsulate(sent.to_arrow(), shared_secret="received"))
assert received["received"].equals(received["shared_secret"], check_names=False)
print(f"{received.height} secrets agree")
