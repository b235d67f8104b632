"""Fails where a page of the built site leads nowhere, or loads something from the network.

Sphinx checks the links that it makes itself. This looks at what a reader's browser will see: every relative link,
picture, script and style of every page, the anchors too, whoever wrote them.
"""

import collections
import html.parser
import pathlib
import sys
import urllib.parse

# What a browser fetches by itself, by tag. A link that a reader may click on is not among them.
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "srcset", "link": "href"}


class Page(html.parser.HTMLParser):
    """The links of a page and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        target = values.get(LOADED.get(tag, ""))
        if target and values.get("rel") != "canonical":
            self.loads.append(target)
        elif tag == "a" and values.get("href"):
            self.links.append(values["href"])


def faults_of(site):
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for target in page.loads:
            if urllib.parse.urlsplit(target).netloc:
                yield path, f"loads {target} from the network"
        for target in page.links + page.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not there.is_file():
                yield path, f"leads to {target}, which does not exist"
            elif parts.fragment and there in pages:
                anchor = urllib.parse.unquote(parts.fragment)
                if anchor not in pages[there].anchors:
                    yield path, f"leads to {target}; that page has no #{anchor}"


def main(folder):
    site = pathlib.Path(folder).resolve()
    faults = collections.Counter((path.relative_to(site), fault) for path, fault in faults_of(site))
    for path, fault in faults:
        print(f"check_links: {path} {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
