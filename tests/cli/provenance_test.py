#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report of every command says where it comes from: `provenance` in JSON, the last line of
text. A file of the user's own that replaces one of the catalogue is named, and linted where it is
shown.

usage: provenance_test.py ROOFTILE
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOFTILE = ''
DATA = pathlib.Path(__file__).resolve().parents[2] / 'data'
L4 = 'gpus/nvidia_l4_24gb.json'
CONV = '--n 4 --c 64 --h 14 --w 14 --k 64 --r 3 --s 3 --pad 1'.split()
ROWS = 'op,device,set,latency_ms,b,m,n,k\n' + ''.join(
    f'linear,NVIDIA L4,train,{0.5 + 0.1 * i},1,1024,1024,{256 * (i + 1)}\n' for i in range(4))

# Reports in text and JSON.
BOTH = {
    'predict': ['predict', 'gpt2', '--seq', '64', '--gpu', 'l4'],
    'compare': ['compare', 'gpt2', '--seq', '64', '--gpus', 'l4'],
    'kernel': ['kernel', 'softmax', '--rows', '64', '--columns', '64', '--gpu', 'l4'],
    'traffic': ['traffic', 'conv', *CONV, '--gpu', 'l4', '--traffic-model', 'closed'],
    'scale': ['scale', 'conv', *CONV, '--gpu', 'l4', '--set', 'sms=2'],
    'the GPUs': ['gpus'],
    'a GPU': ['gpus', 'l4'],
    'a GPU file': ['gpus', 'gpu.json'],
    'lint': ['gpus', '--lint'],
    'lint of a file': ['gpus', '--lint', 'gpu.json'],
    'models': ['models'],
}
TEXT = {'inspection': ['fit', '--inspect', 'linear.csv']}


class Provenance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        shutil.copy(DATA / L4, self.root / 'gpu.json')
        (self.root / 'linear.csv').write_text(ROWS)

    def tearDown(self):
        self.folder.cleanup()

    def run_rooftile(self, *arguments, code=0):
        done = subprocess.run([ROOFTILE, *arguments], cwd=self.root, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, f'{arguments}: {done.stderr}')
        return done

    @staticmethod
    def joined(done):
        """Text and diagnostics with wrapped lines put together again."""
        return re.sub(r'\n  +', ' ', done.stdout + done.stderr)

    def overlay(self, source, name, edits=()):
        text = (DATA / source).read_text()
        for old, new in edits:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = self.root / 'over' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_every_report_has_it(self):
        for name, arguments in {**BOTH, **TEXT}.items():
            text = self.run_rooftile(*arguments).stdout
            self.assertRegex(text, r'(?m)^from: rooftile \d', name)
        for name, arguments in BOTH.items():
            report = json.loads(self.run_rooftile(*arguments, '--format', 'json').stdout)
            self.assertIn('version', report['provenance'], name)
            self.assertTrue(report['provenance']['inputs'], name)
            self.assertNotIn('replaces', str(report.get('warnings')), name)

    def test_a_replaced_gpu_is_named(self):
        self.overlay(L4, 'gpus/mine.json')
        note = f'gpu l4 is read from over/gpus/mine.json, which replaces catalog:{L4}'
        for name in ('predict', 'the GPUs', 'a GPU', 'lint'):
            arguments = ['--catalog', 'over', *BOTH[name]]
            report = json.loads(self.run_rooftile(*arguments, '--format', 'json').stdout)
            self.assertIn(note, report['warnings'], name)
            replacing = [i['name'] for i in report['provenance']['inputs'] if 'replaces' in i]
            self.assertEqual(replacing, ['l4'], name)
        for arguments in (['gpus'], ['gpus', '--format', 'csv'], ['gpus', 'l4'], TEXT['inspection']):
            done = self.run_rooftile('--catalog', 'over', *arguments)
            self.assertIn(f'warning: {note}', self.joined(done), arguments)

    def test_a_replaced_model_is_named(self):
        self.overlay('models/gpt2_large.json', 'models/gpt2-large.json')
        note = ('model gpt2-large is read from over/models/gpt2-large.json, which replaces '
                'catalog:models/gpt2_large.json')
        report = json.loads(
            self.run_rooftile('--catalog', 'over', 'models', '--format', 'json').stdout)
        self.assertEqual(report['warnings'], [note])
        self.assertEqual([m['name'] for m in report['models']].count('gpt2-large'), 1)
        done = self.run_rooftile('--catalog', 'over', 'models')
        self.assertIn(f'warning: {note}', self.joined(done))

    def test_a_replaced_memory_type_is_named_where_lint_runs(self):
        self.overlay('memory_types/GDDR6.json', 'memory_types/GDDR6.json',
                     [('"most": "20 Gbit/s"', '"most": "12 Gbit/s"')])
        for arguments in (['gpus'], ['gpus', 'gpu.json'], ['gpus', '--lint', 'gpu.json'],
                          [*BOTH['predict'][:-1], 'gpu.json'], BOTH['kernel'], BOTH['scale'],
                          BOTH['traffic']):
            done = self.run_rooftile('--catalog', 'over', *arguments, '--format', 'json',
                                     code=int('--lint' in arguments))
            report = json.loads(done.stdout)
            self.assertIn('memory_type GDDR6 is read from over/memory_types/GDDR6.json, which '
                          'replaces catalog:memory_types/GDDR6.json', report['warnings'], arguments)

    def test_a_slip_of_an_overlay_is_refused_wherever_it_is_shown(self):
        self.overlay(L4, 'gpus/mine.json', [('"300 GB/s"', '"300 MB/s"')])
        for arguments in (BOTH['predict'], ['gpus'], ['gpus', 'l4'], ['gpus', '--format', 'csv']):
            done = self.run_rooftile('--catalog', 'over', *arguments, code=1)
            self.assertEqual(done.stdout, '', arguments)
            self.assertIn('(unit-slip)', done.stderr, arguments)

    def test_other_findings_in_an_overlay_are_warnings(self):
        self.overlay(L4, 'gpus/mine.json', [('"300 GB/s"', '"350 GB/s"')])
        done = self.run_rooftile('--catalog', 'over', 'gpus')
        self.assertIn('warning: lint: over/gpus/mine.json:/memory/dram/bandwidth', self.joined(done))
        report = json.loads(
            self.run_rooftile('--catalog', 'over', 'gpus', '--format', 'json').stdout)
        self.assertIn('(dram-product)', report['warnings'][0])


if __name__ == '__main__':
    ROOFTILE = sys.argv.pop(1)
    unittest.main()
