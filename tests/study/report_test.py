#!/usr/bin/env python3
"""The page of `rcap report` in Chromium, opened from a file: what a reader sees and does."""

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

RCAP = os.environ["RCAP_PROGRAM"]
MAKE_STUDY = os.environ["RCAP_MAKE_STUDY"]
METHODS = ["full", "rcap", "rs2", "infobatch", "ucb", "epsilon-greedy", "ccs"]
SEEDS, EPOCHS, CLASSES, BETAS = 3, 6, 4, 3
TITLE = 'Made-up study: „</script><script>alert(1)</script>“ <!-- & größer "quoted"'
WAIT_SECONDS = 60  # for a machine that is busy with other tests


def open_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1280,900", "--hide-scrollbars"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = shutil.which("chromedriver")
    if not options.binary_location or not driver:
        raise RuntimeError("chromium or chromedriver is missing; scripts/setup installs both")
    # With the path given, Selenium does not look for a driver in the network.
    return webdriver.Chrome(options=options, service=Service(driver))


def run_rcap(*words):
    done = subprocess.run([RCAP, *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Folders(unittest.TestCase):
    """The command, without a browser."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_tells_what_it_wrote_and_what_is_missing(self):
        study = self.folder / "study"
        subprocess.run([MAKE_STUDY, study, "1", "1", "2", "2"], check=True)
        code, told, error = run_rcap("report", study)
        self.assertEqual((code, error), (0, ""))
        self.assertRegex(told, rf"^{re.escape(str(study))}/report.html: 3 runs, \d\.\d MB\n")
        self.assertIn("never-begun: not begun", told)
        code, told, _ = run_rcap("report", study, "--html", self.folder / "other.html", "--json")
        told = json.loads(told)
        self.assertEqual((told["runs"], told["missing"]), (3, [{"name": "never-begun", "reason": "not begun"}]))
        self.assertEqual(told["bytes"], (self.folder / "other.html").stat().st_size)
        self.assertEqual((self.folder / "other.html").read_bytes(), (study / "report.html").read_bytes())
        self.assertEqual(run_rcap("report", study, "--quiet"), (0, "", ""))

    def assert_refused(self, *words, naming):
        code, told, error = run_rcap("report", *words)
        self.assertEqual((code, told), (2, ""))
        for part in naming:
            self.assertIn(part, error)

    def test_refuses_what_it_cannot_read_or_write(self):
        self.assert_refused(naming=["DIR is missing", "rcap report DIR"])
        self.assert_refused(self.folder / "none", naming=["none", "there is no such folder"])
        self.assert_refused(self.folder, naming=["there is no run in it"])
        self.assert_refused(self.folder, "--htm", "x", naming=["did you mean --html?"])
        study = self.folder / "study"
        subprocess.run([MAKE_STUDY, study, "1", "1", "2", "2"], check=True)
        self.assert_refused(study, "--html", study / "none" / "a.html",
                            naming=["none/a.html", "create the folder first"])
        self.assert_refused(study, "--html", study, naming=[str(study), "directory"])
        (study / "study.json").write_text("{")
        self.assert_refused(study, naming=["study.json", "is damaged"])
        self.assertIn("Usage: rcap report", run_rcap("report", "--help")[1])


class Page(unittest.TestCase):
    """A study and a browser that all tests of the page share."""

    @classmethod
    def setUpClass(cls):
        if hasattr(Page, "browser"):
            return
        folder = tempfile.TemporaryDirectory()
        unittest.addModuleCleanup(folder.cleanup)
        Page.folder = Path(folder.name)
        subprocess.run([MAKE_STUDY, Page.folder, str(len(METHODS) - 1), str(SEEDS), str(EPOCHS), str(CLASSES),
                        str(BETAS)], check=True)
        subprocess.run([RCAP, "report", Page.folder, "--quiet"], check=True)
        Page.browser = open_browser()
        unittest.addModuleCleanup(Page.browser.quit)

    def load(self):
        self.browser.get_log("browser")
        self.resize(1280, 900)
        self.emulate("light")
        self.browser.get((self.folder / "report.html").as_uri())
        self.run_script("document.documentElement.style.scrollBehavior = 'auto'")

    def tearDown(self):
        self.assertEqual([entry for entry in self.browser.get_log("browser") if entry["level"] != "INFO"], [])

    def resize(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700})

    def emulate(self, scheme):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def wait_for(self, script, *arguments):
        return WebDriverWait(self.browser, WAIT_SECONDS, poll_frequency=0.02).until(
            lambda browser: browser.execute_script(f"return {script}", *arguments), message=script)

    def show(self, plot):
        """Scrolls to a plot, which draws it."""
        self.run_script("document.getElementById(arguments[0]).scrollIntoView()", plot)
        self.wait_for("document.getElementById(arguments[0]).data?.length > 0", plot)

    def show_runs(self):
        """The list of runs is drawn when it comes into view, too."""
        self.run_script("document.getElementById('runs').scrollIntoView()")
        self.wait_for("document.querySelectorAll('#table-runs tbody tr').length > 0")

    def methods_in(self, plot):
        return self.run_script(
            "return [...new Set(document.getElementById(arguments[0]).data"
            ".map((t) => t.meta?.method).filter(Boolean))]", plot)

    def headers(self, table):
        return self.run_script("return [...document.querySelectorAll(`#${arguments[0]} thead th`)]"
                               ".map((h) => h.innerText.trim())",
                               table)

    def column(self, table, place):
        """The texts of a column, from top to bottom."""
        return self.run_script("return [...document.querySelectorAll(`#${arguments[0]} tbody tr:not(.details)`)]"
                               ".map((row) => row.cells[arguments[1]].innerText)", table, place)

    def summaries(self):
        return [json.loads(path.read_text()) for path in self.folder.glob("runs/*/summary.json")]

    def results(self, method, rate, beta, key):
        return [summary[key] for summary in self.summaries() if summary["method"] == method
                and summary["pruning_rate"] == rate and (beta is None or summary["beta"] == beta)]


class Reading(Page):
    """What the page shows as it opens; one load for all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().load()

    def test_loads_nothing_from_anywhere(self):
        self.show("plot-methods")
        for plot in ["plot-curves", "plot-fractions", "plot-beta"]:
            self.show(plot)
        names = self.run_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual([name for name in names if not name.startswith(("data:", "blob:", "file:"))], [])
        buttons = self.run_script("return [...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)")
        self.assertTrue(buttons)
        self.assertFalse([title for title in buttons if re.search("cloud|share|edit|link", title, re.IGNORECASE)])

    def test_shows_names_as_they_are(self):
        self.assertEqual(self.find("h1").text, TITLE)
        self.assertEqual(self.browser.title, TITLE)
        self.assertIn("made-up <b>data</b> & more", self.find("#table-worst caption").text)

    def test_tables_agree_with_the_run_folders(self):
        headers = self.headers("table-worst")
        rows = dict(zip(self.column("table-worst", 0), range(2), strict=False))
        for name, method, rate, beta in [("full", "full", 0, None), ("rs2", "rs2", 0.9, None),
                                         ("rcap, β 1", "rcap", 0.9, 1)]:
            values = self.results(method, rate, beta, "worst_group_accuracy")
            self.assertEqual(len(values), SEEDS)
            expected = f"{100 * statistics.mean(values):.1f} ± {100 * statistics.pstdev(values):.1f}"
            self.assertEqual(self.column("table-worst", headers.index(name))[rows["90 %"]], expected)
        # The reference is rcap with the temperature 1; seed by seed.
        ours, theirs = ({s["seed"]: s["worst_group_accuracy"] for s in self.summaries() if s["method"] == method
                         and s["pruning_rate"] == 0.9 and s["beta"] in (None, 1)} for method in ("ucb", "rcap"))
        differences = [100 * (ours[seed] - theirs[seed]) for seed in ours]
        place = self.headers("table-differences").index("ucb")
        self.assertEqual(self.column("table-differences", place)[rows["90 %"]],
                         f"{statistics.mean(differences):+.1f} ± {statistics.pstdev(differences):.1f}"
                         .replace("-", "−"))

    def test_prior_adjusted_accuracies_are_folded_below_the_plain_ones(self):
        self.assertFalse(self.find("#table-worst-adjusted table").is_displayed())
        self.run_script("document.getElementById('prior-adjusted').open = true")
        rows = dict(zip(self.column("table-worst-adjusted", 0), range(2), strict=False))
        values = [s["prior_adjusted"]["worst_group_accuracy"] for s in self.summaries()
                  if s["method"] == "rs2" and s["pruning_rate"] == 0.9]
        self.assertEqual(len(values), SEEDS)
        place = self.headers("table-worst-adjusted").index("rs2")
        self.assertEqual(self.column("table-worst-adjusted", place)[rows["90 %"]],
                         f"{100 * statistics.mean(values):.1f} ± {100 * statistics.pstdev(values):.1f}")
        self.run_script("document.getElementById('prior-adjusted').open = false")

    def test_marks_the_best_and_the_second_of_the_pruned_methods(self):
        best, second = (self.run_script("return [...document.querySelectorAll('#table-average tbody tr')]"
                                        f".map((row) => "
                                        f"[...row.cells].findIndex((cell) => cell.querySelector('{tag}')))")
                        for tag in ("strong", "u"))
        headers = self.headers("table-average")
        for row in range(2):
            means = {name: float(self.column("table-average", headers.index(name))[row].split()[0])
                     for name in headers if name not in ("Pruned", "n", "full")}
            order = sorted(means, key=means.get, reverse=True)
            self.assertEqual((headers[best[row]], headers[second[row]]), tuple(order[:2]))

    def test_cost_counts_scoring_apart(self):
        headers = self.headers("table-cost")
        row = list(zip(self.column("table-cost", 0), self.column("table-cost", 1), strict=False)).index(("90 %", "ccs"))
        seconds = [s["seconds"] for s in self.summaries() if s["method"] == "ccs" and s["pruning_rate"] == 0.9]
        training = statistics.mean(s["total"] - s["scoring"] for s in seconds)
        full = statistics.mean(s["seconds"]["total"] for s in self.summaries() if s["method"] == "full")
        def cell(name):
            return self.column("table-cost", headers.index(name))[row]
        self.assertEqual(cell("Seconds").split(" ")[0], f"{training:.2f}")
        self.assertEqual(cell("Scoring, s"), "40.0")
        self.assertEqual(cell("With scoring, s"), f"{training + 40:.1f}")
        self.assertEqual(cell("Speed-up"), f"{full / training:.1f} ×")
        self.assertEqual(cell("Speed-up with scoring"), f"{full / (training + 40):.1f} ×")

    def test_cost_counts_samples_too(self):
        headers = self.headers("table-cost")
        rows = list(zip(self.column("table-cost", 0), self.column("table-cost", 1), strict=False))
        for method in ("ccs", "rs2"):
            row = rows.index(("90 %", method))
            for name, key in (("Samples trained on", "trained_samples"), ("Samples forward only", "forward_samples")):
                samples = statistics.mean(self.results(method, 0.9, None, key))
                shown = int(self.column("table-cost", headers.index(name))[row].replace(",", ""))
                self.assertAlmostEqual(shown, samples, delta=0.5, msg=(method, name))

    def test_plots_over_epochs_show_the_records(self):
        self.show("plot-fractions")
        run = self.run_script("return study.runs[Number(document.getElementById('fraction-run').value)].name")
        lines = (self.folder / "runs" / run / "epochs.jsonl").read_text().splitlines()
        last = json.loads(lines[-1])
        drawn = self.run_script("return document.getElementById('plot-fractions').data"
                                ".map((t) => [t.name, t.y.at(-1), t.y.length])")
        self.assertEqual([name for name, _, _ in drawn], [f"class {i}" for i in range(CLASSES)])
        for (_, value, length), fraction in zip(drawn, last["class_fractions"], strict=False):
            self.assertAlmostEqual(value, 100 * fraction)
            self.assertEqual(length, EPOCHS)
        self.show("plot-beta")
        betas = self.run_script("return document.getElementById('plot-beta').data.map((t) => [...t.x])")
        self.assertEqual(betas, [[0.5, 1, 2]] * 2)
        self.assertIn("never-begun\nnot begun", self.find("#missing").text)

    def test_controls_have_names(self):
        nameless = self.run_script("return [...document.querySelectorAll('button, input, select')]"
                                   ".filter((e) => !e.ariaLabel && "
                                   "!(e.tagName === 'BUTTON' ? e.textContent.trim() : e.labels.length))"
                                   ".map((e) => e.outerHTML)")
        self.assertEqual(nameless, [])


class Acting(Page):
    """What the page does; each test begins with a fresh one."""

    def setUp(self):
        self.load()

    def test_a_method_goes_and_comes_back_everywhere(self):
        for plot in ["plot-methods", "plot-curves", "plot-cost"]:
            self.show(plot)
        box = self.find('#methods input[value="rs2"]')
        for shown in [False, True]:
            self.run_script("window.scrollTo(0, 0)")
            box.click()
            for plot in ["plot-methods", "plot-cost", "plot-curves"]:
                self.show(plot)
                self.wait_for("document.getElementById(arguments[0]).data.some((t) => t.meta?.method === 'rs2')"
                              f" === {str(shown).lower()}", plot)
                self.assertIn("infobatch", self.methods_in(plot))
            for table in ["table-worst", "table-average", "table-differences"]:
                self.assertEqual("rs2" in self.headers(table), shown)
            self.assertEqual("rs2" in self.column("table-cost", 1), shown)
            self.show_runs()
            self.wait_for(f"filteredRuns().length === {len(self.summaries()) - (0 if shown else 2 * SEEDS)}")
            self.wait_for("document.querySelectorAll('#table-runs tbody tr').length === filteredRuns().length")
            self.assertEqual("rs2" in self.column("table-runs", 2), shown)
        self.run_script("window.scrollTo(0, 0)")
        self.find("#no-methods").click()
        self.run_script("document.getElementById('plot-methods').scrollIntoView()")
        self.wait_for("document.querySelector('#plot-methods .empty') !== null")
        self.assertEqual(self.headers("table-worst"), ["Pruned", "n"])
        self.find("#all-methods").click()
        self.assertIn("rcap, β 2", self.headers("table-worst"))

    def test_cost_is_in_seconds_or_in_samples(self):
        title = "document.getElementById('plot-cost').layout.xaxis.title.text"
        self.show("plot-cost")
        self.assertIn("Seconds of a run", self.run_script(f"return {title}"))
        self.find("#cost-samples").click()
        self.wait_for(f"{title}.startsWith('Samples a run takes')")
        self.assertFalse(self.find("#cost-scoring").is_enabled())
        summaries = [s for s in self.summaries() if s["method"] == "rcap" and s["pruning_rate"] == 0.9]
        expected = summaries[0]["trained_samples"] + summaries[0]["forward_samples"] / 3
        costs = self.run_script("return document.getElementById('plot-cost').data.flatMap((t) => [...t.x])")
        self.assertTrue(any(abs(cost - expected) < 1 for cost in costs), (expected, costs))

    def test_tables_sort_by_mouse_and_by_keyboard(self):
        self.show_runs()
        place = self.headers("table-runs").index("Worst group, %")
        before = self.column("table-runs", place)
        self.assertNotEqual(before, sorted(before, key=float))
        header = f"#table-runs thead th:nth-child({place + 1})"
        for direction in ["ascending", "descending"]:
            self.run_script("arguments[0].scrollIntoView({block: 'center'})", self.find(header))
            self.find(f"{header} button").click()
            self.assertEqual(self.find(header).get_attribute("aria-sort"), direction)
            self.assertEqual(self.column("table-runs", place),
                             sorted(before, key=float, reverse=direction == "descending"))
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)  # the focus is still on it: as it was
        self.assertEqual(self.find(header).get_attribute("aria-sort"), "none")
        self.assertEqual(self.column("table-runs", place), before)
        # Without a value, below all others in both directions: rates of "full".
        place = self.headers("table-runs").index("Pruned")
        for _ in range(2):
            self.find(f"#table-runs thead th:nth-child({place + 1}) button").click()
            self.assertEqual(self.column("table-runs", place)[-SEEDS:], ["–"] * SEEDS)

    def test_a_run_opens_with_its_options_and_closes(self):
        name = "rcap-rate-0.9-beta-2-seed-27"
        self.show_runs()
        self.find("#filter").send_keys("RCAP 0.9 beta-2 seed 27")
        self.assertEqual(self.column("table-runs", 0), [name])
        self.assertIn("1 of", self.find("#filter-count").text)
        button = self.find("#table-runs .run-name")
        self.assertEqual(button.get_attribute("aria-expanded"), "false")
        button.click()
        details = self.find("#table-runs tr.details").text
        for line in (self.folder / "runs" / name / "options.toml").read_text().splitlines():
            option, value = line.split(" = ")
            shared = self.run_script("return study.shared_options.some(([name]) => name === arguments[0])", option)
            self.assertEqual(f"{option}\n{value}" in details, not shared, line)
        summary = json.loads((self.folder / "runs" / name / "summary.json").read_text())
        for group, accuracy in zip(summary["group_names"], summary["group_accuracy"], strict=False):
            self.assertRegex(details, rf"{group} [\d,]+ 1,000 {100 * accuracy:.1f}")
        self.assertIn(f"total\n{summary['seconds']['total']:.2f}", details)
        self.find("#table-runs .run-name").click()
        self.assertFalse(self.browser.find_elements(By.CSS_SELECTOR, "#table-runs tr.details"))

    def test_choices_reach_plots_and_tables(self):
        self.show("plot-methods")
        def means():
            return self.run_script("return document.getElementById('plot-methods').data.filter((t) => t.error_x?.array)"
                                                ".map((t) => t.x[0])")
        for rate, metric, key in [("0.9", "0", "worst_group_accuracy"), ("0.7", "0", "worst_group_accuracy"),
                                  ("0.7", "1", "average_group_accuracy")]:
            for control, value in [("choose-rate", rate), ("choose-metric", metric)]:
                self.run_script("const c = document.getElementById(arguments[0]); c.value = arguments[1];"
                                "c.dispatchEvent(new Event('change'))", control, value)
            expected = statistics.mean(self.results("rs2", float(rate), None, key))
            self.assertTrue(any(abs(value - 100 * expected) < 1e-3 for value in means()), (rate, metric))
        self.assertIn("Average group", self.find("#table-differences caption").text)

    def test_follows_the_system_and_the_switch_between_light_and_dark(self):
        self.show("plot-methods")
        def ground():
            return self.run_script("return getComputedStyle(document.body).backgroundColor")
        def text():
            return self.run_script("return document.getElementById('plot-methods').layout.font.color")
        light = (ground(), text())
        self.emulate("dark")
        self.wait_for("document.documentElement.dataset.theme === 'dark'")
        dark = (ground(), text())
        self.assertFalse(set(light) & set(dark))
        self.run_script("window.scrollTo(0, 0)")
        self.find("#theme").click()
        self.assertEqual(ground(), light[0])
        self.show("plot-methods")
        self.assertEqual(text(), light[1])

    def test_fits_a_phone(self):
        self.resize(360, 740)
        self.browser.refresh()
        for plot in ["plot-methods", "plot-cost", "plot-curves", "plot-fractions", "plot-beta"]:
            self.show(plot)
        self.run_script("openRun(0)")
        self.run_script("document.querySelectorAll('details').forEach((details) => { details.open = true })")
        width, inner = self.run_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        self.assertLessEqual(width, inner)
        self.assertEqual(inner, 360)


if __name__ == "__main__":
    unittest.main()
