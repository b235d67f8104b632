"""Makes pages of what is not written as one: programs, plans, headers, notebooks, and the site's table of contents."""

import json
import pathlib
import re

from sphinx import addnodes

PYTHON_REFERENCE = pathlib.Path(__file__).with_name("python_reference.rst")
LANGUAGES = {".py": "python", ".cpp": "cpp", ".toml": "toml"}


def fence(text, language=""):
    """A fenced block, with a fence longer than any inside."""
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}{language}\n{text.rstrip()}\n{marks}\n"


def listing(path, text):
    return f"---\norphan: true\n---\n\n# {path.name}\n\n`{path}`\n\n{fence(text, LANGUAGES[path.suffix])}"


def header(path):
    """The reference of a public header, from its `///` comments."""
    name = path.relative_to("include")
    place = f'`#include "{name}"`, in the namespace `rcap`.'
    return f"# {name.name}\n\n{place}\n\n```{{doxygenfile}} {name.name}\n:project: rcap\n```\n"


def output(data):
    """What a cell of a notebook left: a picture, or text."""
    for kind in ("image/png", "image/svg+xml"):
        if kind in data:
            encoded = "".join(data[kind]).replace("\n", "")
            return f'<img class="output" alt="What the cell above draws" src="data:{kind};base64,{encoded}">\n'
    return fence("".join(data.get("text/plain", "")), "text")


def notebook(text):
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else fence(source, "python"))
        for out in cell.get("outputs", []):
            parts.append(fence("".join(out["text"]), "text") if "text" in out else output(out["data"]))
    return "\n\n".join(parts)


def toctree(pages, caption=""):
    """A hidden table of contents: the bar at the side of every page is made of these."""
    entries = "\n".join(page.replace("<", "</") if "<" in page else f"/{page}" for page in pages)
    title = f":caption: {caption}\n" if caption else ""
    return f"\n\n```{{toctree}}\n:hidden:\n:glob:\n{title}\n{entries}\n```\n"


def contents(app):
    chapters = {title: list(pages) for title, pages in app.config.chapters.items()}
    named = {app.config.root_doc, *(re.sub(r".*<|>", "", page) for pages in chapters.values() for page in pages)}
    chapters["Guides"] += sorted(
        page for page in app.env.found_docs if page.rpartition("/")[0] == "docs" and page not in named)
    return "".join(toctree(pages, title) for title, pages in chapters.items())


def turn_into_markdown(app, docname, source):
    path = pathlib.Path(app.env.doc2path(docname, base=False))
    text = source[0]
    if path.suffix == ".ipynb":
        source[0] = notebook(text)
    elif path.suffix == ".hpp":
        source[0] = header(path)
    elif path.suffix in LANGUAGES:
        source[0] = listing(path, text)
    elif docname == app.config.root_doc:
        source[0] = text + contents(app)
    elif docname in app.config.parts_of:
        source[0] = text + toctree(app.config.parts_of[docname])
    if docname == "docs/reference/python":
        source[0] = text + "\n" + fence(PYTHON_REFERENCE.read_text(), "{eval-rst}")


def lead_folders_to_pages(app, doctree):
    """A link to a folder opens its README, as on a code host, or else its first page."""
    for node in doctree.findall(addnodes.pending_xref):
        if node.get("reftype") != "myst" or node.get("refdomain"):
            continue
        name, path = app.env.relfn2path(node["reftarget"], app.env.docname)
        if pathlib.Path(path).is_dir():
            pages = sorted(page for page in app.env.found_docs if page.startswith(name.rstrip("/") + "/"))
            readme = name.rstrip("/") + "/README"
            if pages:
                node["refdomain"], node["reftargetid"] = "doc", None
                node["reftarget"] = readme if readme in pages else pages[0]


def setup(app):
    for name in ("chapters", "parts_of"):
        app.add_config_value(name, {}, "env")
    app.connect("source-read", turn_into_markdown)
    app.connect("doctree-read", lead_folders_to_pages)
    return {"parallel_read_safe": True}
