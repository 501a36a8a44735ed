"""JUnit XML: one suite a model and target, one test case a finding.

There is no standard; the elements are those that Jenkins' schema and GitLab know.
"""

from __future__ import annotations

from xml.etree import ElementTree as xml

from fusectl.render.lint_codes import UNANSWERED
from fusectl.render.lint_words import identities, paragraphs, place, title
from fusectl.render.names import escape
from fusectl.render.options import LintOptions
from fusectl.report.lint import LintedModel, LintFinding, LintReport

_Found = list[tuple[LintFinding, str]]


def to_junit(report: LintReport, options: LintOptions) -> bytes:
    """Return the findings as test cases.

    An error is a failure, or an error where there is no answer at all; a warning or an info
    passes and says so in its output; what is suppressed is skipped. A model without findings
    is one case that passes, so that it is seen to have been looked at. No time, no host: the
    same input gives the same bytes.
    """
    root = xml.Element("testsuites", name="fusectl lint")
    found: dict[tuple[str, str], _Found] = {(m.model, m.target): [] for m in report.models}
    for finding, identity in identities(report):
        found.setdefault((finding.model, finding.target), []).append((finding, identity))
    models = {(m.model, m.target): m for m in report.models}
    for key, here in found.items():
        root.append(_suite(key, models.get(key), here, report, options))
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    xml.indent(root)
    text = str(xml.tostring(root, "unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _suite(
    key: tuple[str, str],
    model: LintedModel | None,
    found: _Found,
    report: LintReport,
    options: LintOptions,
) -> xml.Element:
    name = " on ".join(filter(None, map(escape, key))) or escape(report.config) or "fusectl"
    suite = xml.Element("testsuite", name=name)
    group = _group(*key)
    cases = [_case(finding, identity, group, report, options) for finding, identity in found]
    failed = any(f.code in UNANSWERED for f, _ in found)
    if model is not None and model.error and not failed:
        case = xml.Element("testcase", name="explain", classname=group)
        xml.SubElement(case, "error", type="error", message=escape(model.error))
        cases.append(case)
    if not cases:
        cases.append(xml.Element("testcase", name="no findings", classname=group))
    suite.extend(cases)
    counts = {"tests": len(cases)}
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[attribute] = sum(case.find(tag) is not None for case in cases)
    for attribute, number in counts.items():
        suite.set(attribute, str(number))
    return suite


def _group(model: str, target: str) -> str:
    """Return the class name; a dot in it would be read as a border between packages."""
    pieces = [escape(p).replace(".", "_") for p in (model, target) if p]
    return ".".join(pieces) or "fusectl"


def _case(
    finding: LintFinding, identity: str, group: str, report: LintReport, options: LintOptions
) -> xml.Element:
    # The identity keeps names apart that were shortened alike: readers merge equal names.
    short, _, ordinal = identity.rpartition(":")
    name = f"{title(finding)} [{escape(short)[:12]}{'' if ordinal == '1' else ':' + ordinal}]"
    case = xml.Element("testcase", name=name, classname=group)
    where = place(finding, report, options.folder)
    text = "\n".join([*paragraphs(finding), f"at {escape(where.path)}:{where.line}"])
    if finding.suppressed is not None:
        xml.SubElement(case, "skipped", message=escape(finding.suppressed.reason))
    elif finding.code in UNANSWERED or finding.severity == "error":
        tag = "error" if finding.code in UNANSWERED else "failure"
        told = xml.SubElement(case, tag, type=finding.code, message=escape(finding.message))
        told.text = text
    else:
        xml.SubElement(case, "system-out").text = f"{finding.severity}: {text}"
    return case
