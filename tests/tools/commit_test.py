#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commit in the program: cmake/write_commit.cmake in checkouts of its own.

usage: tests/tools/commit_test.py CMAKE SOURCE_DIR; exit code 77 (skipped) without git
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CMAKE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith('GIT_')}
ENVIRONMENT.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM='1')


def git(folder, *arguments):
    identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.org']
    done = subprocess.run(['git', *identity, *arguments], cwd=folder, env=ENVIRONMENT, check=True,
                          capture_output=True, text=True)
    return done.stdout.strip()


def commit_of(folder, program='git'):
    """What the generated source says, and when it was written."""
    output = folder.parent / 'commit.cpp'
    subprocess.run([CMAKE, f'-DGIT={program}', f'-DSOURCE={folder}', '-DPATHS=src,CMakeLists.txt',
                    f'-DOUTPUT={output}', '-P', SOURCE / 'cmake/write_commit.cmake'],
                   env=ENVIRONMENT, check=True)
    value = re.search(r'return (?:"(.*)"|std::nullopt);', output.read_text())
    return value[1], output.stat().st_mtime_ns


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f'{what}: {got}, not {wanted}')


def main():
    if not shutil.which('git'):
        print('skipped: no git')
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / 'tree'
        (folder / 'src').mkdir(parents=True)
        (folder / 'src/a.cpp').write_text('int a;\n')
        expect('no checkout', commit_of(folder)[0], None)
        git(folder, 'init', '-q')
        expect('no commit', commit_of(folder)[0], None)
        git(folder, 'add', '.')
        git(folder, 'commit', '-qm', 'first')
        head = git(folder, 'rev-parse', 'HEAD')
        clean, written = commit_of(folder)
        expect('clean', clean, head)
        expect('written only when it changes', commit_of(folder)[1], written)
        (folder / 'notes.txt').write_text('next to the sources\n')
        expect('next to the sources', commit_of(folder)[0], head)
        (folder / 'src/b.cpp').write_text('int b;\n')
        expect('a new source', commit_of(folder)[0], head + '-dirty')
        (folder / 'src/b.cpp').unlink()
        (folder / 'src/a.cpp').write_text('int c;\n')
        expect('a changed source', commit_of(folder)[0], head + '-dirty')
        git(folder, 'commit', '-qam', 'second')
        expect('the next commit', commit_of(folder)[0], git(folder, 'rev-parse', 'HEAD'))
        # A copy inside another project is not that project's commit.
        expect('a part of a checkout', commit_of(folder / 'src')[0], None)
        expect('no git', commit_of(folder, '')[0], None)
    return 0


if __name__ == '__main__':
    sys.exit(main())
