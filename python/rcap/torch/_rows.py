"""A part of an array that is spread over ranks, in the form that torch.distributed.checkpoint saves and loads."""

from typing import Any

import torch
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType


class Rows(torch.Tensor):
    """Consecutive rows of an array of `total` numbers, of which each rank has its own.

    A checkpoint knows them by their place in the whole array, so other numbers of ranks may load them with other cuts.
    For anything but a checkpoint use `own`, whose NumPy type is `kind`.
    """

    own: torch.Tensor
    first: int
    kind: str

    @staticmethod
    def __new__(cls, own: torch.Tensor, first: int, total: int, kind: str) -> "Rows":
        rows: Rows = torch.Tensor._make_wrapper_subclass(cls, (total,), dtype=own.dtype)
        rows.own, rows.first, rows.kind = own, first, kind
        return rows

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (),  # type: ignore[override]
                           kwargs: Any = None) -> Any:
        raise TypeError("rows of a state that is spread over ranks: save them with torch.distributed.checkpoint, or "
                        "gather the state with gather_state_dict")

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Rows({self.first}:{self.first + len(self.own)} of {self.size(0)})"

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        if len(self.own) == 0:
            return []
        return [ChunkStorageMetadata(offsets=torch.Size([self.first]), sizes=self.own.size())]

    def __create_write_items__(self, name: str, _: object) -> list[WriteItem]:
        properties = TensorProperties.create_from_tensor(self.own)
        return [WriteItem(index=MetadataIndex(name, chunk.offsets), type=WriteItemType.SHARD,
                          tensor_data=TensorWriteData(chunk=chunk, properties=properties, size=self.size()))
                for chunk in self.__create_chunk_list__()]

    def __get_tensor_shard__(self, _: MetadataIndex) -> torch.Tensor:
        return self.own
