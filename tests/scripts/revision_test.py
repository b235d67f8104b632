"""The revision that a build notes (cmake/NoteRevision.cmake)."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/NoteRevision.cmake"


class NotedRevision(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name) / "source"
        self.source.mkdir()
        self.output = pathlib.Path(folder.name) / "version.cpp"

    def git(self, *words):
        identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"]
        return subprocess.run(["git", *identity, *words], cwd=self.source, check=True, capture_output=True,
                              text=True).stdout.strip()

    def commit(self, text):
        (self.source / "file").write_text(text)
        self.git("add", "file")
        self.git("commit", "--quiet", "--message", text)

    def noted(self, source=None):
        subprocess.run([os.environ["CMAKE"], f"-DSOURCE={source or self.source}", "-DVERSION=1.2.3",
                        f"-DOUTPUT={self.output}", "-P", SCRIPT], check=True, capture_output=True)
        return re.search(r'revision\(\) noexcept \{ return "(.*)"', self.output.read_text())[1]

    def test_is_the_commit_and_says_whether_files_were_changed(self):
        self.git("init", "--quiet")
        self.commit("one")
        self.git("tag", "-a", "v1", "-m", "a tag is not the revision")
        head = self.git("rev-parse", "--short=7", "HEAD")
        self.assertEqual(self.noted(), head)
        (self.source / "untracked").write_text("")
        self.assertEqual(self.noted(), head)
        (self.source / "file").write_text("changed")
        self.assertEqual(self.noted(), f"{head}+dirty")

    def test_is_empty_without_git(self):
        self.assertEqual(self.noted(), "")

    def test_is_not_that_of_a_project_around_it(self):
        self.git("init", "--quiet")
        self.commit("one")
        copy = self.source / "third_party"
        copy.mkdir()
        self.assertEqual(self.noted(copy), "")

    def test_leaves_the_file_alone_until_it_changes(self):
        self.git("init", "--quiet")
        self.commit("one")
        self.noted()
        os.utime(self.output, (1, 1))
        self.noted()
        self.assertEqual(self.output.stat().st_mtime, 1)
        self.commit("two")
        self.noted()
        self.assertGreater(self.output.stat().st_mtime, 1)


if __name__ == "__main__":
    unittest.main()
