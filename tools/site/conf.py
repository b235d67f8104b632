"""How Sphinx builds the site of `scripts/docs`: the repository's own Markdown, read where it lies.

The source folder is the repository, so a relative link means the same here and on a code host, and a page's address on
the site is its path in the repository.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

project = "rcap"
author = "The rcap contributors"
version = re.search(r"project\(rcap VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
release = version

root_doc = "docs/index"
# The bar at the side: pages by their own titles, or by a shorter one before <the page>. Pages of docs/ that are named
# nowhere come at the end of the guides.
chapters = {
    "Tutorials": [
        "docs/tutorials/first_loop", "docs/tutorials/compare_methods", "docs/tutorials/long_tailed",
        "docs/tutorials/several_machines", "docs/tutorials/stop_and_resume", "examples/notebooks/fashion_mnist"],
    "Guides": [
        "docs/install", "docs/advise", "docs/python", "Frameworks <docs/frameworks>",
        "docs/language", "docs/scale", "docs/launchers", "docs/streams", "Moving from others <docs/moving>",
        "docs/cpp", "docs/select",
        "docs/training", "Studies <docs/studies>", "docs/report", "docs/datasets", "examples/python/README"],
    "Reference": [
        "docs/reference/python", "docs/reference/cpp", "docs/models", "State format <docs/state_format>",
        "docs/determinism", "docs/glossary"],
    "Background": ["The algorithm <docs/algorithm>", "docs/results/README", "docs/speed"],
    "Project": [
        "README <README>", "CHANGELOG", "CONTRIBUTING", "HACKING <HACKING>", "SECURITY <SECURITY>",
        "docs/dependencies"],
}
# Pages below another page.
parts_of = {
    "docs/reference/cpp": ["include/rcap/core/**"],
    "docs/results/README": ["docs/results/field", "docs/results/choosing", "docs/results/*/tables"],
}
# What is a page: Markdown, and the files that Markdown links to (repository_pages.py turns them into pages).
source_suffix = dict.fromkeys((".md", ".ipynb", ".py", ".cpp", ".hpp", ".toml"), "markdown")
include_patterns = [
    "*.md", "docs/**.md", "examples/**.md", "examples/notebooks/*.ipynb", "examples/python/*.py", "examples/cpp/*.cpp",
    "bench/*.py", "plans/*.toml", "include/rcap/core/**.hpp"]
exclude_patterns = [
    ".*", "build*", "site", "demo-out", "studies", "tables",  # not ours to read: the pattern keeps Sphinx out of them
    "docs/results/*/table_*.md",  # parts of the tables.md beside them
    "include/rcap/core/export.hpp"]  # marks for the linker

extensions = [
    "myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon",
    "repository_pages", "pictures", "mathml", "docstrings"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 5  # as code hosts name them
myst_fence_as_directive = ["math"]

suppress_warnings = ["misc.highlighting_failure"]  # blocks with "..." in them are not quite Python

breathe_projects = {"rcap": str(ROOT / "build" / "docs" / "doxygen" / "xml")}
breathe_default_project = "rcap"
breathe_default_members = ("members", "protected-members")
breathe_show_include = False
highlight_language = "none"
pygments_style = "default"
pygments_dark_style = "github-dark"

python_maximum_signature_line_length = cpp_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
default_role = "code"  # `so` marks code in the docstrings
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "rcap"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # a summary is fetched, which browsers refuse a page that was opened as a file
html_use_index = False  # the search finds more, on a phone too
html_show_sphinx = False
html_show_copyright = False
html_math_renderer = "mathml"
