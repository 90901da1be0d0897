"""Where the actors of a job run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ray

from .._ctru import has_kernels
from ._errors import JobError
from ._work import Work


def placement(
    work: Work, actors: int | None, threads: int | None, spare: int
) -> tuple[Work, int, dict[str, Any]]:
    """Returns the work of an actor with its device and its threads, the number of actors, and the
    resources of each. The cluster has room for one actor for each GPU, or for one for each CPU but
    `spare` CPUs of each node. With the device "auto", a set without kernels has CPUs.

    Actors hold no logical CPU: when nodes are lost, actors that held all CPUs of the others would
    leave none for the tasks that make lost blocks again, and the job would wait for ever.

    Raises `JobError` if the device is "cuda" and no node has a GPU: actors would wait for ever.
    """
    if actors is not None and actors < 1:
        raise ValueError(f"actors is {actors}, not a positive number")
    cluster: Any = ray
    have = cluster.cluster_resources()
    gpus = int(have.get("GPU", 0))
    resources = {"num_cpus": 0}
    device = work.device
    if device == "auto":
        device = "cuda" if gpus and has_kernels(work.set) else "cpu"
    if device == "cuda":
        if not gpus:
            raise JobError("the device is 'cuda', and no node of the cluster has a GPU")
        resources["num_gpus"], most = 1, gpus
    elif device == "cpu":
        nodes = len([node for node in cluster.nodes() if node["Alive"]])
        most = max(1, int(have.get("CPU", 1)) - spare * nodes)
        threads = 1 if threads is None else threads
    else:
        raise ValueError(f"device is {device!r}, not 'auto', 'cpu' or 'cuda'")
    return replace(work, device=device, threads=threads), actors or most, resources
