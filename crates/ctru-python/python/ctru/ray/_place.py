"""Where the actors of a job run."""

from __future__ import annotations

from typing import Any

import ray

from ._errors import JobError


def placement(device: str, spare: int) -> tuple[dict[str, Any], str, int]:
    """Returns the resources of an actor, the device of its engine, and how many actors the cluster
    has room for: one for each GPU, or one for each CPU but `spare` CPUs of each node.

    Actors hold no logical CPU: when nodes are lost, actors that held all CPUs of the others would
    leave none for the tasks that make lost blocks again, and the job would wait for ever.

    Raises `JobError` if the device is "cuda" and no node has a GPU: actors would wait for ever.
    """
    cluster: Any = ray
    have = cluster.cluster_resources()
    gpus = int(have.get("GPU", 0))
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device is {device!r}, not 'auto', 'cpu' or 'cuda'")
    if device == "cuda" and not gpus:
        raise JobError("the device is 'cuda', and no node of the cluster has a GPU")
    if device != "cpu" and gpus:
        return {"num_gpus": 1, "num_cpus": 0}, "cuda", gpus
    nodes = len([node for node in cluster.nodes() if node["Alive"]])
    return {"num_cpus": 0}, "cpu", max(1, int(have.get("CPU", 1)) - spare * nodes)
