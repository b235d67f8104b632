"""What scripts/check-abi says before it builds anything."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-abi"


class CheckAbi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, check=True)

    def check_abi(self, *words):
        result = subprocess.run([self.root / "scripts/check-abi", *words], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def test_has_nothing_to_compare_before_the_first_tag(self):
        self.assertEqual(self.check_abi(), (0, "check-abi: there is no tag yet, so there is no ABI to keep\n"))

    def test_refuses_a_tag_that_is_not_there(self):
        self.assertEqual(self.check_abi("v9"), (2, "check-abi: there is no revision v9; git tag lists the tags\n"))

    def test_refuses_options_it_does_not_know(self):
        code, text = self.check_abi("--fast")
        self.assertEqual(code, 2)
        self.assertTrue(text.startswith("Usage: scripts/check-abi [TAG]\n"), text)


if __name__ == "__main__":
    unittest.main()
