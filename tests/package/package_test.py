"""rcap::core as its users meet it: installed and found, or built as a part of their project; static and shared."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

CMAKE = os.environ["CMAKE"]
COMPILER = os.environ["CXX"]
GENERATOR = os.environ["RCAP_GENERATOR"]
MAKE_PROGRAM = os.environ["RCAP_MAKE_PROGRAM"]
SOURCE = pathlib.Path(os.environ["RCAP_SOURCE"])
SCRATCH = pathlib.Path(os.environ["RCAP_SCRATCH"])
VERSION = os.environ["RCAP_VERSION"]
MINOR_VERSION = VERSION.rpartition(".")[0]

HERE = SOURCE / "tests/package"
EXAMPLE = SOURCE / "examples/cpp"
STATIC_PREFIX = SCRATCH / "prefix"
SHARED_PREFIX = SCRATCH / "shared_prefix"

# What examples/cpp/select_epochs.cpp prints, on every machine and in every way it is built.
EPOCHS = """\
epoch 0 trains on 100 of 1000: 49 + 37 + 14 per class
epoch 1 trains on 100 of 1000: 38 + 33 + 29 per class
epoch 2 trains on 100 of 1000: 31 + 29 + 40 per class
epoch 3 trains on 100 of 1000: 27 + 26 + 47 per class
epoch 4 trains on 100 of 1000: 25 + 25 + 50 per class
"""


def run(*command, **environment):
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if result.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def build(project, name, *options):
    """Configures and builds a user's project; returns its build folder."""
    folder = SCRATCH / name
    run(CMAKE, "-S", project, "-B", folder, "-G", GENERATOR, f"-DCMAKE_MAKE_PROGRAM={MAKE_PROGRAM}",
        f"-DCMAKE_CXX_COMPILER={COMPILER}", *options)
    run(CMAKE, "--build", folder)
    return folder


def library_folder(prefix):
    return next(prefix.rglob("librcap_core.*")).parent


def ask_pkg_config(prefix, *words):
    return shlex.split(run("pkg-config", *words, "rcap", PKG_CONFIG_PATH=str(library_folder(prefix) / "pkgconfig")))


class Installed:
    """What holds for either kind of library."""

    def test_is_found_by_find_package(self):
        folder = build(EXAMPLE, f"find_package_{self.prefix.name}", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.assertEqual(run(folder / "select_epochs"), EPOCHS)

    def test_is_found_by_pkg_config(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "select_epochs"
            run(COMPILER, "-std=c++20", EXAMPLE / "select_epochs.cpp", "-o", program,
                *ask_pkg_config(self.prefix, "--cflags", "--libs"))
            self.assertEqual(run(program, LD_LIBRARY_PATH=str(library_folder(self.prefix))), EPOCHS)

    def test_tells_its_version(self):
        self.assertEqual(ask_pkg_config(self.prefix, "--modversion"), [VERSION])
        major, minor = map(int, MINOR_VERSION.split("."))
        for wanted, fits in [(MINOR_VERSION, True), (VERSION, True), (f"{major}.{minor + 1}", False),
                             (f"{major}.{minor - 1}", False), (f"{major + 1}", False)]:
            with self.subTest(wanted):
                self.assertEqual(self.fits(wanted), fits)

    def fits(self, wanted):
        """Whether find_package(rcap WANTED) takes this package."""
        parts = dict(zip(["MAJOR", "MINOR", "PATCH"], wanted.split("."), strict=False))
        with tempfile.NamedTemporaryFile("w", suffix=".cmake") as script:
            print(f"set(PACKAGE_FIND_VERSION {wanted})", file=script)
            for name, value in parts.items():
                print(f"set(PACKAGE_FIND_VERSION_{name} {value})", file=script)
            print(f"include({library_folder(self.prefix)}/cmake/rcap/rcap-config-version.cmake)", file=script)
            print("message(NOTICE [${PACKAGE_VERSION_COMPATIBLE}])", file=script, flush=True)
            answer = subprocess.run([CMAKE, "-P", script.name], capture_output=True, text=True, check=True).stderr
        return answer == "[TRUE]\n"

    def test_keeps_types_on_both_sides(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "across_libraries"
            run(COMPILER, "-std=c++20", "-fvisibility=hidden", HERE / "across_libraries.cpp", "-o", program,
                *ask_pkg_config(self.prefix, "--cflags", "--libs"))
            run(program, LD_LIBRARY_PATH=str(library_folder(self.prefix)))


class StaticPackage(Installed, unittest.TestCase):
    prefix = STATIC_PREFIX


class SharedPackage(Installed, unittest.TestCase):
    prefix = SHARED_PREFIX

    @classmethod
    def setUpClass(cls):
        cls.library = library_folder(cls.prefix) / "librcap_core.so"
        lines = run("nm", "-DC", "--defined-only", cls.library).splitlines()
        cls.symbols = [line.split(maxsplit=2)[1:] for line in lines]

    def test_has_a_name_for_each_minor_version(self):
        self.assertIn(f"[librcap_core.so.{MINOR_VERSION}]", run("readelf", "-d", self.library))
        self.assertEqual(self.library.resolve().name, f"librcap_core.so.{VERSION}")

    def test_exports_only_what_public_headers_declare(self):
        headers = "".join(path.read_text() for path in (SOURCE / "include").rglob("*.hpp"))
        public = set(re.findall(r"\w+", re.sub("//.*", "", headers)))
        self.assertIn("make_pruner", public)
        private = []
        for kind, symbol in self.symbols:
            names = re.findall(r"\brcap::(\w+)", symbol)
            # Of the standard library only templates, which every user has, too.
            if not set(names) <= public or not (names or kind in "VWu"):
                private.append(symbol)
        self.assertEqual(private, [])

    def test_exports_what_is_thrown(self):
        errors = ["Error", "InvalidArgument", "BadFile", "StateMismatch", "InternalError"]
        exported = [symbol for _, symbol in self.symbols]
        self.assertEqual([error for error in errors if f"typeinfo for rcap::{error}" not in exported], [])


class FromSource(unittest.TestCase):
    """Projects that build rcap themselves."""

    def test_add_subdirectory_of_a_shared_library(self):
        folder = build(HERE / "subdirectory", "subdirectory", f"-DRCAP_SOURCE={SOURCE}", "-DBUILD_SHARED_LIBS=ON",
                       "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON")
        self.assertEqual(run(folder / "select_epochs"), EPOCHS)
        # The user's project installs the library along with its own programs.
        run(CMAKE, "--install", folder, "--prefix", SHARED_PREFIX)

    def test_fetch_content(self):
        folder = build(HERE / "fetch_content", "fetch_content", f"-DFETCHCONTENT_SOURCE_DIR_RCAP={SOURCE}",
                       "-DCMAKE_UNITY_BUILD=ON")
        self.assertEqual(run(folder / "select_epochs"), EPOCHS)


if __name__ == "__main__":
    unittest.main()
