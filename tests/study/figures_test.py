"""The figures as an XML parser sees them: well-formed, described, without scripts, inside their page."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

DRAW_FIGURES = os.environ["RCAP_DRAW_FIGURES"]
IMAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"


class FiguresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rcap_figures_")
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([DRAW_FIGURES, folder.name], check=True, timeout=60)
        cls.paths = sorted(pathlib.Path(folder.name).glob("figure_*.svg"))
        cls.texts = {path.name: path.read_text(encoding="utf-8") for path in cls.paths}
        cls.texts["overview.svg"] = (IMAGES / "overview.svg").read_text(encoding="utf-8")
        cls.roots = {name: ElementTree.fromstring(text) for name, text in cls.texts.items()}

    def test_all_figures_are_there(self):
        self.assertEqual([path.name for path in self.paths],
                         ["figure_beta.svg", "figure_class_counts.svg", "figure_class_fractions.svg",
                          "figure_cost.svg", "figure_curves.svg", "figure_samples.svg"])

    def test_each_describes_itself_and_knows_light_and_dark(self):
        for name, root in self.roots.items():
            with self.subTest(name):
                self.assertEqual(root.tag, SVG + "svg")
                self.assertTrue(root.find(SVG + "title").text)
                self.assertTrue(root.find(SVG + "desc").text)
                self.assertIn("prefers-color-scheme:dark", root.find(SVG + "style").text)

    def test_no_scripts_and_nothing_from_elsewhere(self):
        for name, root in self.roots.items():
            for element in root.iter():
                self.assertIn(element.tag.removeprefix(SVG),
                              ("svg", "title", "desc", "style", "rect", "g", "path", "text", "tspan"), name)
                self.assertFalse([key for key in element.attrib if key.startswith("on") or "href" in key], name)

    def test_every_number_is_one_and_every_text_starts_on_the_page(self):
        for name, root in self.roots.items():
            width, height = map(float, root.get("viewBox").split()[2:])
            for element in root.iter():
                for key in ("x", "y", "width", "height"):
                    if element.get(key) is not None:
                        self.assertRegex(element.get(key), r"^-?\d+(\.\d+)?$", name)
                if element.tag == SVG + "path":
                    self.assertIsNone(re.search("nan|inf|e", element.get("d")), name)
                if element.tag == SVG + "text":
                    self.assertTrue(0 <= float(element.get("x")) <= width, name)
                    self.assertTrue(0 <= float(element.get("y")) <= height, name)

    def test_names_come_back_as_they_were(self):
        texts = ["".join(element.itertext()) for element in self.roots["figure_cost.svg"].iter(SVG + "text")]
        self.assertIn("a<b> & \"c\" 'd' é, long-tailed 100", texts)
        self.assertIn("x<y&z", texts)


if __name__ == "__main__":
    unittest.main()
