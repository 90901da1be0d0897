"""Measures joules per operation on a GPU: runs `ctru bench`, and reads NVML's counter of energy.

    python energy.py CTRU [SECONDS]

CTRU is the program `ctru`. Needs the package nvidia-ml-py. Prints a line of JSON for each
measurement of `ctru bench`, with watts, joules per operation, and the watts of the card when
nothing runs. `ctru-research paper --from` shows them. The counter is that of the whole card. A
guest has no counter of its host's processor; where Linux has one (powercap), its joules stand
beside those of the GPU.
"""

import bisect
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pynvml

#: The part of a measurement that counts, at its end: the beginning may be of another one.
PART = 0.8
#: Seconds between two readings. NVML's counter changes several times per second.
PERIOD = 0.02


def processor_joules() -> float | None:
    """Returns the counters of all processors, or None if there are none."""
    counters = list(Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj"))
    try:
        return sum(int(counter.read_text()) for counter in counters) / 1e6 if counters else None
    except OSError:
        return None


class Meter(threading.Thread):
    """Reads the counters all the time."""

    def __init__(self, card: object) -> None:
        super().__init__(daemon=True)
        self.card, self.times, self.joules, self.processor = card, [], [], []

    def run(self) -> None:
        """Reads until the program ends."""
        while True:
            joules = pynvml.nvmlDeviceGetTotalEnergyConsumption(self.card) / 1e3
            self.joules.append(joules)
            self.processor.append(processor_joules())
            self.times.append(time.monotonic())
            time.sleep(PERIOD)

    def between(self, begin: float, end: float) -> tuple[float, float, float | None]:
        """Returns seconds, the GPU's joules and the processors' joules of a time."""
        first = bisect.bisect_left(self.times, begin)
        last = bisect.bisect_right(self.times, end) - 1
        processor = None
        if self.processor[first] is not None and self.processor[last] is not None:
            processor = self.processor[last] - self.processor[first]
        joules = self.joules[last] - self.joules[first]
        return self.times[last] - self.times[first], joules, processor


def main() -> None:
    """Measures with data on the host and with data on the device."""
    program, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "3"
    pynvml.nvmlInit()
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    meter = Meter(card)
    meter.start()
    begin = time.monotonic()
    time.sleep(2)
    idle, joules, _ = meter.between(begin, time.monotonic())
    idle_watts = joules / idle
    driver = pynvml.nvmlSystemGetDriverVersion()
    batch = ["--batch", "1048576", "--seconds", seconds]
    for more in [], ["--on-device"]:
        command = [program, "bench", "--engine", "gpu", "--set", "761", "--json", *batch, *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                end = time.monotonic()
                record = json.loads(line)
                # The operations of the measurement, at its median rate.
                length = PART * record["samples"] * record["batch"] / record["ops_per_s"]
                time.sleep(2 * PERIOD)
                seconds_read, joules, processor = meter.between(end - length, end)
                operations = record["ops_per_s"] * seconds_read
                figures = {
                    "watts": joules / seconds_read,
                    "joules": joules / operations,
                    "idle_watts": idle_watts,
                }
                if processor is not None:
                    figures["processor_joules"] = processor / operations
                record |= {"bench": "energy", "driver": driver, "figures": figures}
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
