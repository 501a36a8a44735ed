# ruff: noqa: T201
"""A compact table of how the expectations fare, and one line per failure.

python -m tests.cases.score [--target T] [--match SUBSTRING] [--open]
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cases.expectations import (
    Case,
    complaint,
    load_cases,
    load_pending,
    reason_to_skip,
    report_of,
)

COLUMNS = ("passed", "failed", "pending", "open+", "open-", "skipped")


def judge(case: Case, pending: bool) -> tuple[str, str]:
    """The column that a case counts in, and why it is not `passed`."""
    try:
        skip = reason_to_skip(case)
        if skip:
            return "skipped", skip
        wrong = complaint(report_of(case.path, case.expectation.target), case.expectation)
    except Exception as error:  # a score goes on, whatever breaks
        wrong = f"got {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if pending and wrong:
        return "pending", wrong
    if not case.expectation.sure:
        return ("open-", wrong) if wrong else ("open+", "")
    return ("failed", wrong) if wrong else ("passed", "")


def line(case: Case, wrong: str) -> str:
    """One failure."""
    expectation = case.expectation
    return (
        f"{case.file}  {expectation.target}  {expectation.value} -> {expectation.consumer}: "
        f"expected {expectation.summary()}, {wrong}"
    )


def main() -> int:
    """Prints the table; 1 when something failed."""
    parser = argparse.ArgumentParser(description="how the expectations of the cases fare")
    parser.add_argument("--target", help="only this target")
    parser.add_argument("--match", default="", help="only names that contain this")
    parser.add_argument("--open", action="store_true", help="list arguable and pending ones too")
    options = parser.parse_args()

    pending = load_pending()
    counts: dict[str, Counter[str]] = {}
    skips: Counter[str] = Counter()
    lines: dict[str, list[str]] = {"failed": [], "open-": [], "pending": []}
    for case in load_cases():
        if options.match not in case.id or options.target not in (None, case.expectation.target):
            continue
        column, why = judge(case, case.id in pending or case.file in pending)
        counts.setdefault(case.expectation.target, Counter())[column] += 1
        if column == "skipped":
            skips[why] += 1
        if column in lines:
            lines[column].append(line(case, why))

    print(f"{'target':18}" + "".join(f"{column:>9}" for column in COLUMNS))
    for target, found in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(f"{target:18}" + "".join(f"{found[column]:9}" for column in COLUMNS))
    print("open+ and open-: arguable expectations that pass and that do not")
    for why, number in skips.most_common():
        print(f"skipped {number}: {why}")
    for column in ("failed", "open-", "pending") if options.open else ("failed",):
        if lines[column]:
            print(f"\n{column}:", *lines[column], sep="\n")
    return 1 if lines["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
