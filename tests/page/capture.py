#!/usr/bin/env python3
"""Pictures for the documentation, out of a report: capture.py REPORT.html SECTION=PICTURE.png.. [--width 900]

SECTION is the id of a section of the page (throughput, memory, fit, shape, precision, ..). Needs the Chromium that
setup.sh installs.
"""
import argparse
import pathlib

import browser


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('report', type=pathlib.Path)
    parser.add_argument('pictures', nargs='+', metavar='SECTION=PICTURE')
    parser.add_argument('--width', type=int, default=900)
    options = parser.parse_args()
    program = browser.find_chromium()
    if not program:
        parser.exit(77, 'no Chromium: tests/page/setup.sh installs it\n')
    with browser.Browser(program) as page:
        page.resize(options.width, 900)
        page.prefer('light')
        page.open(options.report.resolve().as_uri())
        for picture in options.pictures:
            section, file = picture.split('=', 1)
            page.screenshot(pathlib.Path(file), f'#{section}')


if __name__ == '__main__':
    main()
