"""Docstrings of the compiled module's properties, which begin with a signature: `(self) -> int`, then the text."""

import inspect
import re

SIGNATURE = re.compile(r"\w*\(self\) -> (?P<type>.+)")


def describe_property(app, what, name, obj, options, lines):
    """The type, then the text. A colon in the text is a colon, though Napoleon takes what is before it for a type."""
    if not isinstance(obj, property):
        return
    signature = SIGNATURE.match(obj.fget.__doc__ or "")
    text = inspect.cleandoc(obj.__doc__ or "")
    if SIGNATURE.fullmatch(text):
        text = ""
    kind = f"`{signature['type']}`. " if signature else ""
    lines[:] = (kind + text).splitlines()


def leave_out_signature(app, what, name, obj, options, signature, return_annotation):
    return ("", None) if isinstance(obj, property) and return_annotation else None


def setup(app):
    app.connect("autodoc-process-docstring", describe_property, priority=600)  # after Napoleon
    app.connect("autodoc-process-signature", leave_out_signature)
    return {"parallel_read_safe": True}
