#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--machine means the same in every command that has it: the same files are read, to the same
numbers, and others are refused with the same words.

usage: machine_formats_test.py ROOFTILE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOFTILE = ''
GPU = ['--gpu', 'v100-sxm2-16gb']
CONV = '--n 4 --c 64 --h 14 --w 14 --k 64 --r 3 --s 3 --pad 1'.split()

# Command -> arguments that make it read the file.
COMMANDS = {
    'predict': ['predict', 'gpt2', '--seq', '64', *GPU],
    'generate': ['generate', 'gpt2', '--isl', '64', '--osl', '8', '--batch', '1', *GPU],
    'compare': ['compare', 'gpt2', '--seq', '64', '--gpus', 'v100-sxm2-16gb'],
    'kernel': ['kernel', 'gemm', '--m', '512', '--n', '512', '--k', '512', *GPU],
    'traffic': ['traffic', 'conv', *CONV, *GPU],
    'scale': ['scale', 'conv', *CONV, *GPU, '--set', 'sms=2'],
    'roofline': ['roofline', 'run.csv', *GPU],
    'gpus': ['gpus', 'v100-sxm2-16gb'],
    'characterize': ['characterize', '--from-samples', 'run.samples', '--plot', 'curves.svg'],
}

# The same two ceilings in every format: 700 GB/s DRAM, 14 TFLOP/s FP32.
FORMATS = {
    'machine.json': '{"schema": 1, "kind": "machine", "device": "d", "tool": "t", "date": "now",'
                    ' "bandwidth": {"dram": "700 GB/s"}, "rate": {"fp32": "14 TFLOP/s"}}',
    'roofline.json': '{"empirical": {"gbytes": {"data": [["DRAM", 700]]},'
                     ' "gflops": {"data": [["FP32 GFLOPs", 14000]]}}}',
    'sum': '  14000 FP32 GFLOPs\n\n  700 DRAM\n',
    'peaks.csv': 'label,peak_flops,peak_bandwidth\nmeasured,14e12,700e9\n',
    'bench.csv': 'device,HBMBw,FP32Flops\n0,700,14000\n',
}
REFUSED = {
    'words.txt': 'this is not a machine\n',
    'gpu.json': '{"schema": 1, "kind": "gpu", "id": "x"}',
    'odd.json': '{"empirical": {"gbytes": {"data": [["L9x", 1]]}, "gflops": {"data": []}}}',
    'empty': '',
}
EXPORT = ('"ID","Process ID","Kernel Name","CC","gpu__time_duration.sum","dram__bytes.sum"\n'
          '"","","","","ns","byte"\n"0","1","k","7.0","1000","1000"\n')
SAMPLES = (
    'rooftile-samples,1,final\n'
    'pattern,dtype,pipe,working_set_bytes,flops_per_element,pass_bytes,pass_flops,pass_steps,passes,'
    'repetitions,fast_s,low_s,high_s,confidence,minimum_s,median_s,maximum_s,spread,converged,'
    'bytes_per_s,flop_per_s,flop_per_byte,s_per_step\n' + ''.join(
        f'load,fp64,vector,{size},0,{size},0,0,10,12,1e-7,1e-7,2e-7,0.9,1e-7,1e-7,3e-7,0.1,1,8e10,0,'
        '0,\n' for size in (8192, 16384)))


def run(arguments, folder):
    return subprocess.run([ROOFTILE, *arguments], cwd=folder, capture_output=True, text=True,
                          check=False)


class MachineFormats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        for name, text in {**FORMATS, **REFUSED, 'run.csv': EXPORT, 'run.samples': SAMPLES}.items():
            (root / name).write_text(text)

    def tearDown(self):
        self.folder.cleanup()

    def test_every_command_that_has_it_is_here(self):
        listed = run(['--help'], self.folder.name).stdout.split('\nOptions:')[0]
        commands = re.findall(r'(?m)^  ([a-z]+) ', listed)
        self.assertIn('predict', commands)
        having = {command for command in commands
                  if re.search(r'(?m)^ +--machine ', run([command, '--help-all'],
                                                         self.folder.name).stdout)}
        self.assertEqual(having, set(COMMANDS))

    def test_all_formats_give_the_same_numbers(self):
        for command, arguments in COMMANDS.items():
            outputs = {}
            for name in FORMATS:
                form = [] if command == 'characterize' else ['--format', 'json']
                done = run([*arguments, '--machine', name, *form], self.folder.name)
                self.assertEqual(done.returncode, 0, f'{command} {name}: {done.stderr}')
                text = (done.stdout if command != 'characterize' else
                        (pathlib.Path(self.folder.name) / 'curves.svg').read_text())
                # Files, tools and digests differ; numbers do not.
                outputs[name] = (re.findall(r'(?<![\w.])\d+\.\d+(?![\w.])', text)
                                 if command != 'characterize' else text.count('<path'))
            first = outputs['machine.json']
            self.assertTrue(first, command)
            for name, numbers in outputs.items():
                self.assertEqual(numbers, first, f'{command} {name}')

    def test_the_file_is_used(self):
        def latency(*machine):
            done = run([*COMMANDS['predict'], '--format', 'json', *machine], self.folder.name)
            return json.loads(done.stdout)['latency']['total_ms']
        self.assertNotEqual(latency(), latency('--machine', 'sum'))

    def test_other_files_are_refused_with_the_same_words(self):
        for name in REFUSED:
            words = set()
            for command, arguments in COMMANDS.items():
                done = run([*arguments, '--machine', name], self.folder.name)
                self.assertEqual(done.stdout, '', f'{command} {name}')
                self.assertIn(done.returncode, (1, 3), f'{command} {name}')
                words.add(done.stderr)
            self.assertEqual(len(words), 1, words)


if __name__ == '__main__':
    ROOFTILE = sys.argv.pop(1)
    unittest.main()
