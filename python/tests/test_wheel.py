"""The wheels of `scripts/wheels` (in the folder RCAP_WHEELS): names, contents, metadata."""

import email
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = sorted(pathlib.Path(os.environ.get("RCAP_WHEELS", "none")).glob("*.whl"))
ENDS = ["low", "high"]  # of the ranges of the extras

pytestmark = pytest.mark.skipif(not WHEELS, reason="RCAP_WHEELS names no folder with wheels")
each_wheel = pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.name)


def tags_of(wheel):
    return parse_wheel_filename(wheel.name)[3]


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(files.read(name))


def extras_of(wheel):
    """The frameworks that the extras bring that are tested at both ends, with their ranges."""
    requirements = list(map(Requirement, metadata_of(wheel).get_all("Requires-Dist")))
    return {each.name: each for extra in ("lightning", "hf") for each in requirements
            if each.marker and each.marker.evaluate({"extra": extra}) and each.name != "torch"}


def versions_tested(end):
    """Of the same frameworks; TRL, which is tested at one end only, has a marker."""
    lines = (ROOT / f"requirements/extras-{end}.txt").read_text().splitlines()
    tested = [Requirement(line) for line in lines if "==" in line]
    return {each.name: str(each.specifier).removeprefix("==") for each in tested if each.marker is None}


@each_wheel
def test_has_one_module_of_the_abi_that_its_name_says(wheel):
    with zipfile.ZipFile(wheel) as files:
        (module,) = (name for name in files.namelist() if name.endswith(".so"))
    (python, abi), = {(tag.interpreter, tag.abi) for tag in tags_of(wheel)}
    if abi == "abi3":
        assert (python, module) == ("cp312", "rcap/_core.abi3.so")
    else:
        assert python == abi in ("cp310", "cp311")
        assert re.fullmatch(rf"rcap/_core\.cpython-{abi[2:]}-.*\.so", module)


@pytest.mark.skipif(not pathlib.Path("/etc/debian_version").exists() or
                    not pathlib.Path("/etc/debian_version").read_text().startswith("12"),
                    reason="systems newer than Debian 12 have newer symbols")
@each_wheel
def test_runs_with_the_oldest_glibc_that_the_documentation_claims(wheel):
    (oldest,) = re.findall(r"Linux, x86-64, glibc (\S+) or newer", (ROOT / "docs/install.md").read_text())
    assert {tag.platform for tag in tags_of(wheel)} >= {f"manylinux_{oldest.replace('.', '_')}_x86_64"}


@pytest.mark.skipif(all("abi3" not in wheel.name for wheel in WHEELS) and sys.version_info < (3, 12),
                    reason="there is no Python 3.12 or newer to build it with")
def test_one_is_for_all_pythons_to_come():
    assert sum(any(tag.abi == "abi3" for tag in tags_of(wheel)) for wheel in WHEELS) == 1


@each_wheel
def test_says_which_glibc_it_needs(wheel):
    assert all(re.fullmatch(r"manylinux_2_\d+_\w+|manylinux(1|2010|2014)_\w+", tag.platform) for tag in tags_of(wheel))


@each_wheel
def test_is_small(wheel):
    assert wheel.stat().st_size <= 1_500_000


@each_wheel
def test_holds_the_licences_of_all_that_is_compiled_in(wheel):
    with zipfile.ZipFile(wheel) as files:
        texts = "".join(files.read(name).decode() for name in files.namelist() if ".dist-info/licenses/" in name)
    assert metadata_of(wheel)["License-Expression"] == "Apache-2.0"
    for phrase in ("Apache License", "nanobind: BSD-3-Clause", "robin-map, a part of nanobind: MIT"):
        assert phrase in texts


@each_wheel
def test_its_page_on_an_index_has_links_that_work_there(wheel):
    metadata = metadata_of(wheel)
    page = metadata.get_payload()
    targets = re.findall(r"\]\(([^)]*)\)", page) + re.findall(r"(?:src|href)=[\"']([^\"']*)", page)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert targets and [target for target in targets if not target.startswith("https://")] == []


@each_wheel
def test_the_extras_allow_what_was_tested_and_nothing_older(wheel):
    extras = extras_of(wheel)
    for end in ENDS:
        assert versions_tested(end).keys() == extras.keys()
        assert all(extras[name].specifier.contains(version) for name, version in versions_tested(end).items())
    for name, version in versions_tested("low").items():
        assert f">={version.removesuffix('.0')}" in str(extras[name].specifier)
        assert any(bound.operator == "<" for bound in extras[name].specifier)


def test_the_message_of_rcap_hf_names_the_versions_that_were_tested():
    source = (ROOT / "python/rcap/hf.py").read_text()
    low, high = (versions_tested(end)["transformers"] for end in ENDS)
    assert f'TESTED = "transformers {low} to {high}"' in source


@pytest.mark.parametrize("end", ENDS)
def test_installing_the_extras_leaves_supported_frameworks_as_they_are(end, tmp_path):
    """pip takes what PYTHONPATH shows it for installed; without an index it can bring nothing else."""
    for name, version in {"numpy": "2.2.0", **versions_tested(end)}.items():
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (own,) = (wheel for wheel in WHEELS if not tags_of(wheel).isdisjoint(sys_tags()))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-index", "--report", "-",
               f"rcap-pruning[lightning,hf] @ {own.as_uri()}"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert {item["metadata"]["name"] for item in json.loads(done.stdout)["install"]} <= {"rcap-pruning"}

