"""Pictures that Sphinx does not look after.

A page may show one by HTML of its own, such as `<img src="docs/house.svg" width="840">`. A page's address on the site
is its path in the repository, so a copy of the picture under its own path is where the page looks for it.

A picture from the network, such as a badge, gives way to its text: the site loads nothing.
"""

import re
import shutil

from docutils import nodes

LOCAL = re.compile(r"""\b(?:src|srcset)="(?!data:|https?:)([^"\s]+)""")
REMOTE = re.compile(r"""<(?:img|source)\b[^>]*\b(?:src|srcset)="https?:[^>]*>""")


def leave_out_remote_pictures(app, doctree):
    for node in list(doctree.findall(nodes.image)):
        if "://" in node["uri"]:
            node.parent.replace(node, nodes.Text(node.get("alt", "")))
    for node in list(doctree.findall(nodes.raw)):
        if REMOTE.search(node.astext()):
            node.parent.replace(node, nodes.raw("", REMOTE.sub("", node.astext()), format=node["format"]))


def copy_local_pictures(app, doctree, docname):
    for node in doctree.findall(nodes.raw):
        for target in LOCAL.findall(node.astext()):
            name, path = app.env.relfn2path(target, docname)
            copy = app.outdir / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def setup(app):
    app.connect("doctree-read", leave_out_remote_pictures)
    app.connect("doctree-resolved", copy_local_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
