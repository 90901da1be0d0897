"""Runs the tests of arrays on a GPU with a stand-in for the driver, which needs no GPU. Its kernels
compute nothing, so these are tests of what is taken, refused, wiped and freed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

SOURCE = ROOT / "crates/ctru-gpu-runtime/tests/fake_driver/libcuda.c"
TESTS = Path(__file__).parent / "gpu/test_on_stand_in.py"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Returns the folder of the stand-in."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("stand-in")
    options = ["-O1", "-shared", "-fPIC", "-pthread", "-o", str(folder / "libcuda.so.1")]
    subprocess.run([compiler, *options, str(SOURCE)], check=True)
    return folder


@pytest.mark.parametrize("how", ["computes-nothing", "refuses-keys"])
def test_on_a_stand_in(folder, how):
    told = {"LD_LIBRARY_PATH": str(folder), "CTRU_FAKE_DRIVER": how}
    command = [sys.executable, "-m", "pytest", str(TESTS)]
    done = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "failed" not in done.stdout
