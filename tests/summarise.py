#!/usr/bin/env python3
"""Says which tests did not run and why, from the JUnit files that ctest writes.

usage: tests/summarise.py <name>=<junit file>...
Last line: `N passed, N failed, N skipped`, counted in ctest entries over all files. Exit code 1 when any failed.
"""

import collections
import re
import sys
import xml.etree.ElementTree

# GoogleTest prints the reason of a skip between the start of a test and its verdict.
GTEST_SKIP = re.compile(r"^[^\n]*: Skipped\n(?P<reason>.*?)\n*^\[  SKIPPED \] (?P<name>\S+) \(", re.MULTILINE | re.DOTALL)


def verdict(case):
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    by_itself = case.get("status") == "disabled" or (skipped is not None and "SKIP_" in skipped.get("message", ""))
    return "skipped" if by_itself else "failed"  # a program that is missing is a failure


def skipped_parts(case):
    """(GoogleTest name, reason) of each part of a ctest entry that was skipped."""
    output = case.findtext("system-out", default="")
    parts = [(match["name"], match["reason"].strip()) for match in GTEST_SKIP.finditer(output)]
    if not parts and verdict(case) == "skipped":
        last_line = output.strip().rsplit("\n", 1)[-1]
        parts = [("", last_line or "no reason given")]
    return parts


def main():
    counts = collections.Counter()
    failed, reasons = [], collections.defaultdict(list)
    for argument in sys.argv[1:]:
        run, path = argument.split("=", 1)
        cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
        if not cases:
            counts["failed"] += 1
            failed.append(f"{run}: not one test was found")
        for case in cases:
            outcome = verdict(case)
            counts[outcome] += 1
            if outcome == "failed":
                failed.append(f"{run}: {case.get('name')}")
            for name, reason in skipped_parts(case):
                reasons[reason].append(f"{run}: {case.get('name')} {name}".strip())
    for reason, names in reasons.items():
        print(f"skipped: {reason}")
        print("".join(f"    {name}\n" for name in names), end="")
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
