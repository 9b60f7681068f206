#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`characterize` on a device whose kernels do nothing: exit code 1 and no file; and, so that this says
something, exit code 0 and all files when the same kernels take their time.

usage: check_nothing.py ROOFTILE FOLDER_OF_THE_FAKE_LOADER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FILES = {'-o': 'machine.json', '--samples': 'samples.csv', '--plot': 'curves.svg',
         '--ert': 'roofline.json'}


def characterize(program, library, folder, mode):
    environment = dict(os.environ, LD_LIBRARY_PATH=library, FAKE_OPENCL=mode, LC_ALL='C')
    command = [program, 'characterize', '--backend', 'opencl', '--quick', '--dtype', 'fp32',
               '--pattern', 'update', '--max-working-set', '1 MiB']
    for option, name in FILES.items():
        command += [option, name]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                          check=False, timeout=300)


def main():
    program, library = sys.argv[1:]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        done = characterize(program, library, folder, 'nothing')
        if done.returncode != 1:
            failures.append(f'nothing: exit code {done.returncode}, expected 1')
        if 'no measurement is plausible' not in done.stderr or done.stdout:
            failures.append(f'nothing: stderr {done.stderr!r}, stdout {done.stdout!r}')
        if left := sorted(p.name for p in pathlib.Path(folder).iterdir()):
            failures.append(f'nothing: wrote {left}')
    with tempfile.TemporaryDirectory() as folder:
        done = characterize(program, library, folder, 'honest')
        if done.returncode != 0:
            failures.append(f'honest: exit code {done.returncode}: {done.stderr}')
        written = sorted(p.name for p in pathlib.Path(folder).iterdir())
        if written != sorted(FILES.values()):
            failures.append(f'honest: wrote {written}')
        else:
            machine = json.loads((pathlib.Path(folder) / 'machine.json').read_text())
            if 'fp32' not in machine['rate']:
                failures.append(f'honest: rates {machine["rate"]}')
    print('\n'.join(failures) or 'ok')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
