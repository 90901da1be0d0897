"""Batches of bytes, where the wheel is all that is installed: `.ci/python` runs this program."""

import ctru

engine = ctru.Engine("761", "cpu")
public, private = engine.generate(10, kind="bytes")
secrets, ciphertexts = engine.encapsulate(public)
assert engine.decapsulate(private, ciphertexts) == secrets
