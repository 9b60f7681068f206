# SPDX-License-Identifier: Apache-2.0
"""The diffs of docs/howto are of things that are in the tree.

Every fenced block ```diff of a page must be found in the sources, line by line: it is applied in
reverse, without being written. A page that is promised to have one and has none fails, too.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMISED = ["add_a_gpu", "add_an_architecture", "add_an_operator", "add_a_predictor",
            "add_an_import_format", "add_an_output_format"]


def diffs_of(page):
    """The diffs of a page; blocks in a list are indented."""
    text = page.read_text(encoding="ascii")
    for match in re.finditer(r"^( *)```diff\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE):
        indent = len(match.group(1))
        yield "".join(line[indent:] or "\n" for line in match.group(2).splitlines(keepends=True))


def refused(diff):
    """What git says about a diff that is not in the tree; nothing where it is."""
    done = subprocess.run(
        ["git", "apply", "--reverse", "--check", "--unidiff-zero", "-"], input=diff,
        text=True, cwd=ROOT, capture_output=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    failures = []
    for name in PROMISED:
        page = ROOT / "docs" / "howto" / (name + ".md")
        diffs = list(diffs_of(page))
        if not diffs:
            failures.append(f"{page.name}: no diff of an example")
        for diff in diffs:
            if error := refused(diff):
                failures.append(f"{page.name}: the tree has changed, and the example with it:\n{error}")
    # A line that is in no file must be found out, or the check is worth nothing.
    if not refused("--- a/README.md\n+++ b/README.md\n@@ -1,0 +1,1 @@\n+no such line\n"):
        failures.append("git apply takes a line that does not exist")
    print("\n".join(failures) or f"{len(PROMISED)} pages agree with the tree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
