"""Formulas as MathML, which browsers lay out by themselves: no script, no font, no network."""

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
