# SPDX-License-Identifier: Apache-2.0
"""Loops of the kernels in AMD assembly as Clang writes it: from a label to the branch back to it."""

import re


def kernels(text):
    """Kernel -> list of lines, labels included, without comments and directives."""
    out = {}
    for name, body in re.findall(r"^(\w+):[^\n]*\n(.*?)^\.Lfunc_end", text, re.S | re.M):
        lines = [re.sub(r";.*", "", line).strip() for line in body.splitlines()]
        out[name] = [line for line in lines if line and (not line.startswith(".") or line.endswith(":"))]
    return out


def loops(lines):
    """(first, last) line of every loop."""
    at = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    found = []
    for i, line in enumerate(lines):
        branch = re.match(r"s_c?branch\w* (\.LBB\w+)", line)
        if branch and at.get(branch.group(1), i) < i:
            found.append((at[branch.group(1)], i))
    return sorted(found)


def instructions(lines, first, last):
    return [line for line in lines[first:last + 1] if not line.endswith(":")]
