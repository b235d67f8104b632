"""Brings along the pictures that a page shows by HTML of its own, such as `<img src="docs/house.svg" width="840">`.

Sphinx knows nothing of these. A page's address on the site is its path in the repository, so a copy of the picture
under its own path is where the page looks for it.
"""

import re
import shutil

from docutils import nodes

PICTURE = re.compile(r"""\b(?:src|srcset)="(?!data:|https?:)([^"\s]+)""")


def copy_pictures(app, doctree, docname):
    for node in doctree.findall(nodes.raw):
        for target in PICTURE.findall(node.astext()):
            name, path = app.env.relfn2path(target, docname)
            copy = app.outdir / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def setup(app):
    app.connect("doctree-resolved", copy_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
