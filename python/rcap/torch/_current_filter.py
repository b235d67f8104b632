"""The filter of the epoch under way, where the workers of a loader find it."""

import os
import shutil
import sys
import tempfile
import weakref

from .. import Filter, InvalidArgument


class CurrentFilter:
    """A place for one filter that any process of this user on this machine reads while this one lives.

    Workers live for many epochs, and each pass begins with the filter that is here then. Putting another one here does
    not change what a pass under way has: it has mapped the old one. Pickles hold the path alone.

    On Linux it is a file without a name, so that a killed process leaves nothing behind.
    """

    def __init__(self) -> None:
        if sys.platform == "linux":
            self._file = os.memfd_create("rcap-filter")
            self.path = f"/proc/{os.getpid()}/fd/{self._file}"
            weakref.finalize(self, os.close, self._file)
        else:
            folder = tempfile.mkdtemp(prefix="rcap-filter-")
            self.path = os.path.join(folder, "current")
            weakref.finalize(self, _remove_if_own, folder, os.getpid())

    def put(self, filter: Filter) -> None:
        """Makes this the current one; who opens the path finds the old one or the new one."""
        if sys.platform == "linux":
            new = os.memfd_create("rcap-filter")
            try:
                left = filter._bytes().data
                while len(left) > 0:
                    left = left[os.write(new, left):]
                os.dup2(new, self._file, inheritable=False)
            finally:
                os.close(new)
        else:
            filter.save(self.path)

    def get(self) -> Filter:
        """The filter that is here now.

        Raises:
            InvalidArgument: If there is none yet.
        """
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            raise InvalidArgument("Filtered: no epoch has been selected yet; call sampler.set_epoch(epoch) before each "
                                  "pass through the loader, in the process that made the sampler, which must live on")
        return Filter.load(self.path)

    def __getstate__(self) -> str:
        return self.path

    def __setstate__(self, path: str) -> None:
        self.path = path


def _remove_if_own(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked worker has a copy of what made it
        shutil.rmtree(folder, ignore_errors=True)
