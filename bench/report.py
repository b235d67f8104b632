#!/usr/bin/env python3
"""Times how a report of 500 runs (60 epochs, 10 classes) opens in headless Chromium; prints one JSON object.

The runs are made up by the tests' make_study. A time goes from the begin of the navigation to the later one of the
load event's end and the first plot; the browser is started once, and every load is of a new tab without a cache.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parent.parent
METHODS, SEEDS, EPOCHS, CLASSES = 12, 20, 60, 10  # 12 methods at 2 rates and full: 25 x 20 runs
TIMES = ("const [page] = performance.getEntriesByType('navigation');"
         "const [plot] = performance.getEntriesByName('first-plot');"
         "return page.loadEventEnd > 0 && plot ? [page.domInteractive, page.loadEventEnd, plot.startTime] : null")


def open_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1280,900"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def load_once(browser, page):
    """Milliseconds until the page is loaded and its first plot drawn."""
    browser.switch_to.new_window("tab")
    browser.get(page.as_uri())
    while (times := browser.execute_script(TIMES)) is None:
        time.sleep(0.01)
    browser.close()
    browser.switch_to.window(browser.window_handles[0])
    return max(times)


def spread(values):
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder [build]")
    parser.add_argument("--repeat", type=int, default=7, help="timed loads, after two untimed ones [7]")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.build / "tests" / "make_study", folder,
                        *map(str, (METHODS, SEEDS, EPOCHS, CLASSES))], check=True)
        command = [arguments.build / "rcap", "report", folder, "--json"]
        seconds = []
        for _ in range(arguments.repeat):
            start = time.perf_counter()
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            seconds.append(time.perf_counter() - start)
        browser = open_browser()
        loads = [load_once(browser, Path(told["report"])) / 1000 for _ in range(arguments.repeat + 2)][2:]
        version = browser.capabilities["browserVersion"]
        browser.quit()
    print(json.dumps({"runs": told["runs"], "epochs": EPOCHS, "classes": CLASSES, "bytes": told["bytes"],
                      "write_seconds": spread(seconds), "load_seconds": spread(loads), "repeat": arguments.repeat,
                      "chromium": version, "threads": os.cpu_count(), "load_average": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
