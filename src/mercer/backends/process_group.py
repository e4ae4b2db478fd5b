"""What the processes of a torch.distributed group tell each other: sums of arrays, objects from all, and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.distributed as dist


class ProcessGroup:
    """The processes among which rows are dealt (final). Every method is collective: all processes call it alike.

    group : a group of torch.distributed, on gloo or NCCL; None is all processes
    """

    def __init__(self, group: Any = None) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            raise RuntimeError(
                "torch.distributed has not been initialised. Call torch.distributed.init_process_group first."
            )
        self.group, self.rank, self.size = group, dist.get_rank(group), dist.get_world_size(group)
        # NCCL moves only what is on a card, and gloo moves what is in memory.
        on_card = dist.get_backend(group) == "nccl"
        self.device = torch.device("cuda", torch.cuda.current_device()) if on_card else torch.device("cpu")

    def sums(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Each array summed over the processes: the same bits in all of them."""
        return {name: self._reduced(array, dist.ReduceOp.SUM) for name, array in arrays.items()}

    def largest(self, array: np.ndarray) -> np.ndarray:
        """The largest entry over the processes, at each place."""
        return self._reduced(array, dist.ReduceOp.MAX)

    def everyone(self, value: Any) -> list[Any]:
        """The values of all processes, in the order of their ranks. They must be small."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.group)
        return values

    def from_rank(self, value: Any, rank: int) -> Any:
        """The value of one process."""
        sent = [value if self.rank == rank else None]
        dist.broadcast_object_list(
            sent, src=rank if self.group is None else dist.get_global_rank(self.group, rank), group=self.group
        )
        return sent[0]

    def fail_together(self, error: Exception | None) -> None:
        """Raise in every process if any of them has failed, so that no process waits for one that has gone."""
        said = self.everyone(None if error is None else f"{type(error).__name__}: {error}")
        if error is not None:
            raise error
        for rank, text in enumerate(said):
            if text is not None:
                raise RuntimeError(f"Process {rank} of {self.size} failed. {text}")

    def _reduced(self, array: np.ndarray, operation: Any) -> np.ndarray:
        tensor = torch.as_tensor(np.array(array, np.float64)).to(self.device)
        dist.all_reduce(tensor, operation, group=self.group)
        return tensor.cpu().numpy()
