# The everyday commands. Each one first brings what is missing (scripts/setup), so a fresh clone needs no other step.

# Without pipefail a failing `git ls-files` would look like a clean format check.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

CMAKE := .venv/bin/cmake
CTEST := .venv/bin/ctest
PYTHON3 := .venv/bin/python

# How long `make test` runs each fuzz target.
RCAP_FUZZ_SECONDS ?= 5

# CMake finds Ninja here.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

LIST_SOURCES := git ls-files -z '*.cpp' '*.hpp'
LIST_CORE := git ls-files -z 'src/base/*.cpp' 'src/core/*.cpp' ':!src/base/windows'
LIST_SHELL_SCRIPTS := git grep -lzE '^\#!.*[/ ](ba)?sh$$' -- ':!*.md'

.PHONY: help setup setup-demo setup-bench build build-tests demo docs test test-core test-portable test-windows \
  test-python test-extras wheels campaign fuzz check-abi bench bench-python format clean \
  check check-format check-python check-shell check-page check-figure check-files check-tidy check-docs file-flags

help:  ## list the targets (default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install what checks, tests and documentation need: Debian packages, .venv
	@scripts/setup test

setup-demo:  ## install what building and running the program needs
	@scripts/setup demo

setup-bench:  ## install what measuring needs
	@scripts/setup bench

build: setup-demo  ## build the program build/rcap
	scripts/heartbeat configuring $(CMAKE) --preset program
	scripts/heartbeat building $(CMAKE) --build --preset program

build-tests: setup  ## build the program and the tests
	$(CMAKE) --preset release
	$(CMAKE) --build --preset release

demo: build  ## build, train on Fashion-MNIST and compare the methods
	build/rcap study plans/demo.toml --out demo-out --jobs 2

docs: setup  ## install the Python package and build the documentation: site/index.html
	scripts/test-python --install-only
	scripts/docs

test:  ## run every check, then every test, optimised, under sanitizers, fuzzed, from Python
	@rm -f build/phases.txt
	scripts/phase 'set-up' scripts/setup test
	scripts/phase 'checks' $(MAKE) --no-print-directory check
	scripts/phase 'build' $(MAKE) --no-print-directory build-tests
	scripts/phase 'tests' $(CTEST) --preset release
	$(CMAKE) --preset asan -DRCAP_FUZZ_SECONDS=$(RCAP_FUZZ_SECONDS)
	scripts/phase 'build with sanitizers' $(CMAKE) --build --preset asan
	scripts/phase 'tests with sanitizers' $(CTEST) --preset asan
	$(CMAKE) --preset tsan
	scripts/phase 'build for threads' $(CMAKE) --build --preset tsan
	scripts/phase 'tests of threads' $(CTEST) --preset tsan
	scripts/phase 'other processors' scripts/test-portable
	scripts/phase 'Python' scripts/test-python
	scripts/phase 'documentation' scripts/docs
	@scripts/phase --times

test-core: check-format  ## the library alone, optimised and under sanitizers: minutes
	$(CMAKE) --preset core
	$(CMAKE) --build --preset core
	$(CTEST) --preset core
	$(CMAKE) --preset core-asan
	$(CMAKE) --build --preset core-asan
	$(CTEST) --preset core-asan

test-portable: setup  ## selections on other processors and by other compilers, compared bit for bit: five minutes
	scripts/test-portable

test-windows:  ## the same with a build for Windows, in Wine: two minutes
	@scripts/setup windows
	scripts/test-portable --windows

test-python: build-tests  ## install the Python package into an environment of its own and run its tests
	scripts/test-python

test-extras: setup  ## the Python package with the oldest and the newest frameworks of its extras: ten minutes
	scripts/test-extras

wheels: setup  ## build the wheels of the Python package and test them with every Python here: build/wheels
	$(PYTHON3) scripts/wheels

campaign: build-tests  ## fail every call to the system, kill at random: hours; CAMPAIGN="--jobs select" does a part
	scripts/test-python --install-only
	RCAP_PROGRAM=build/rcap RCAP_FAULTS=$(CURDIR)/build/tests/campaign/librcap_faults.so \
	  RCAP_PYTHON_ENV=$(CURDIR)/build/python-env/bin/python $(PYTHON3) tests/campaign/campaign.py $(CAMPAIGN)

fuzz: setup  ## ten million inputs for each fuzz target: hours; FUZZ="--targets npy --inputs 1000000" does a part
	$(CMAKE) --preset fuzz
	$(CMAKE) --build --preset fuzz
	scripts/fuzz-long $(FUZZ)

bench: setup-bench build  ## build and run the benchmarks
	$(PYTHON3) bench/run.py
	$(PYTHON3) bench/train.py
	$(PYTHON3) bench/data.py
	$(PYTHON3) bench/photo.py
	$(PYTHON3) bench/report.py

bench-python: setup build  ## install the Python package and measure it against DataCull and InfoBatch
	scripts/test-python --install-only
	build/python-env/bin/python -m pip install --quiet orjsonl==1.0.0
	build/python-env/bin/python -m pip install --quiet --no-deps datacull==1.0.2  # its own wishes bring another torch
	build/python-env/bin/python bench/python.py

format: setup  ## format every tracked C++ file
	$(LIST_SOURCES) | xargs -0 -r clang-format -i

check-format: setup  ## fail where a tracked C++ file is not formatted
	$(LIST_SOURCES) | xargs -0 -r clang-format --dry-run --Werror

check-python: setup  ## fail where ruff finds something in a Python file
	.venv/bin/ruff check --no-cache .

check: check-format check-python check-shell check-page check-figure check-files check-tidy  ## every check that runs nothing: under three minutes

check-shell: setup  ## shellcheck on every shell script
	$(LIST_SHELL_SCRIPTS) | xargs -0 -r shellcheck

check-page: setup  ## fail where a script of the report's page has a mistake
	$(PYTHON3) scripts/check-page

check-figure: setup  ## fail where the README's figure is not what the committed tables say
	$(PYTHON3) tools/draw_front_figure.py --check

# check-tidy compiles the sources of base and core alone, too.
check-files: file-flags  ## fail where a source or a public header does not compile alone
	$(PYTHON3) scripts/check-files include/ $(filter-out src/base src/core,$(wildcard src/*))

# It counts on the standard error what it found in other people's headers.
check-tidy: file-flags  ## clang-tidy on the core, with the checks of .clang-tidy
	$(LIST_CORE) | xargs -0 -r -n 3 -P "$$(nproc)" clang-tidy-14 --quiet -p build-files 2>&1 | \
	  { grep -vE '^[0-9]+ warnings? generated\.$$' || true; }

check-abi: setup  ## whether programs linked with the shared library of the last tag, or of TAG=..., run with this one
	scripts/check-abi $(TAG)

# Not one of `check`: its reference comes out of the Python package, which takes minutes to install the first time.
check-docs: setup  ## fail where a page of the documentation has a warning or a link that leads nowhere
	scripts/docs

file-flags: setup
	@mkdir -p build-files
	@$(CMAKE) --preset files >build-files/configure.log 2>&1 || { cat build-files/configure.log; exit 1; }

clean:  ## remove build folders, the site and the demo's output; .venv stays
	rm -rf build build-*/ demo-out site
