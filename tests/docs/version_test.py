#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One version everywhere (docs/howto/release.md), and a CHANGELOG that can be read: a release has at most
40 lines."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_LINES = 40


def found(path, pattern):
    match = re.search(pattern, (ROOT / path).read_text(), re.M)
    return match[1] if match else None


def main():
    failures = []
    version = found('CMakeLists.txt', r'^project\(rooftile VERSION (\d+\.\d+\.\d+)')
    minor = version.rsplit('.', 1)[0]
    for path, pattern, expected in [
            ('CITATION.cff', r'^version: (\S+)$', version),
            ('docs/howto/library.md', r'^find_package\(rooftile (\S+) REQUIRED\)$', minor),
            ('tests/consumer/project/CMakeLists.txt', r'^find_package\(rooftile (\S+) REQUIRED\)$', minor)]:
        if found(path, pattern) != expected:
            failures.append(f'{path}: {found(path, pattern)}, but CMakeLists.txt says {version}')
    changelog = (ROOT / 'CHANGELOG.md').read_text()
    releases = re.split(r'(?m)^## ', changelog)[1:]
    names = [release.split('\n', 1)[0] for release in releases]
    if names[0] != 'Unreleased':
        failures.append('CHANGELOG.md: the first section is Unreleased')
    if not any(re.match(r'\d+\.\d+\.\d+', name) for name in names):
        failures.append('CHANGELOG.md: no release')
    for name, release in zip(names[1:], releases[1:]):
        lines = sum(1 for line in release.splitlines()[1:] if line.strip())
        if lines > MOST_LINES:
            failures.append(f'CHANGELOG.md: {name} has {lines} lines, at most {MOST_LINES}')
    print('\n'.join(failures) or f'version {version}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
