"""What all tests share."""

# A forked worker imports it otherwise; where a garbage collection in that moment imports something, too, Python 3.11
# loses track of its locks ("KeyError" in importlib), and the worker ends.
import numpy.random  # noqa: F401

try:
    import torch.utils.data
except ModuleNotFoundError:  # scripts/wheels tests what needs no PyTorch on Pythons without it
    pass
else:
    # A loader with persistent workers that is collected as part of a reference cycle, as the frameworks make them,
    # tells its workers too late that they may go, and waits this long for each of them: 5 seconds otherwise.
    torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL = 0.5
