"""Our event files as TensorBoard itself reads them."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

PROGRAM = pathlib.Path(os.environ["RCAP_WRITE_EVENTS"]).resolve()


class EventFileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rcap_events_")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([PROGRAM, cls.folder], timeout=60, check=True)
        cls.curves = EventAccumulator(folder.name, size_guidance={"scalars": 0})
        cls.curves.Reload()

    def test_tensorboard_finds_the_curves(self):
        self.assertEqual(set(self.curves.Tags()["scalars"]), {"loss/train", "accuracy/average", "grüße"})
        self.assertEqual(self.curves.FirstEventTimestamp(), 1700000000.0)
        self.assertEqual(self.curves.file_version, 2.0)

    def test_values_steps_and_times_are_those_written(self):
        losses = self.curves.Scalars("loss/train")[:300]
        self.assertEqual([point.step for point in losses], list(range(300)))
        self.assertEqual([point.wall_time for point in losses], [1700000000.25 + i for i in range(300)])
        self.assertEqual([point.value for point in losses], [float(np.float32(1 / (1 + i))) for i in range(300)])
        self.assertEqual({point.value for point in self.curves.Scalars("accuracy/average")}, {0.5})
        self.assertEqual([point.value for point in self.curves.Scalars("grüße")], [0.0] * 300)

    def test_a_resumed_run_is_one_curve(self):
        self.assertEqual(len(self.curves.Scalars("loss/train")), 301)
        last = self.curves.Scalars("loss/train")[-1]
        self.assertEqual((last.wall_time, last.step, last.value), (1700000900.0, 2**40, -1.5))

    def test_every_record_passes_the_checksums(self):
        """The accumulator stops in silence at a bad record, so the records are counted here."""
        counts = [sum(1 for _ in RawEventFileLoader(str(path)).Load()) for path in sorted(self.folder.iterdir())]
        self.assertEqual(counts, [1 + 2 * 300, 1 + 1])


if __name__ == "__main__":
    unittest.main()
