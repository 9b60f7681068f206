#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command in every format it offers: what it writes is of that format, and says the same.

usage: formats_test.py ROOFTILE SOURCE_DIR
"""
import csv
import html.parser
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOFTILE = ''
SOURCE = pathlib.Path()
CONV = '--n 4 --c 64 --h 14 --w 14 --k 64 --r 3 --s 3 --pad 1'.split()
TABLES = {'text', 'json', 'csv', 'markdown'}
PICTURES = TABLES | {'svg', 'html'}
PROFILE = 'tests/golden/roofline/predict/profile.csv'


def commands():
    """name -> arguments, formats that it must have"""
    golden = SOURCE / 'tests/golden'
    return {
        'predict': (['predict', 'gpt2', '--seq', '64', '--gpu', 'l4', '--phase', 'train'],
                    PICTURES | {'trace'}),
        'predict on GPUs': (['predict', 'gpt2', '--seq', '64', '--gpu', 'h100-sxm', '--phase', 'train',
                             '--batch', '4', '--tp', '2', '--dp', '2'],
                            PICTURES | {'trace'}),
        'predict decode': (['predict', 'gpt2', '--gpu', 'l4', '--phase', 'decode', '--context', '64'],
                           PICTURES | {'trace'}),
        'compare': (['compare', 'gpt2', '--seq', '64', '--gpus', 'l4,t4'], PICTURES),
        'generate': (['generate', 'gpt2', '--gpu', 'l4', '--isl', '64', '--osl', '8'], PICTURES),
        'generate served': (['generate', 'gpt2', '--gpu', 'l4', '--isl', '64', '--osl', '1',
                             '--concurrency', '4'], PICTURES),
        'kernel': (['kernel', 'gemm', '--m', '64', '--n', '64', '--k', '64', '--gpu', 'l4'], TABLES),
        'traffic': (['traffic', 'alexnet', '--batch', '4', '--gpu', 'v100-sxm2-16gb'], PICTURES),
        'traffic conv': (['traffic', 'conv', *CONV, '--gpu', 'l4'], PICTURES),
        'scale': (['scale', 'conv', *CONV, '--gpu', 'l4', '--set', 'sms=2'], PICTURES),
        'scale study': (['scale', 'alexnet', '--gpu', 'l4', '--study'], PICTURES),
        'scale optimum': (['scale', 'alexnet', '--gpu', 'l4', '--optimize', 'target=2x'], PICTURES),
        'roofline': (['roofline', str(SOURCE / PROFILE), '--gpu', 'a100-sxm-40gb', '--predict'],
                     PICTURES),
        'roofline of runs': (['roofline', f'first={SOURCE / PROFILE}', f'second={SOURCE / PROFILE}',
                              '--gpu', 'a100-sxm-40gb', '--compare'], PICTURES),
        'roofline times': (['roofline', str(SOURCE / PROFILE), '--gpu', 'a100-sxm-40gb',
                            '--time-based'], PICTURES),
        'characterize': (['characterize', '--from-ert', 'ert.json'], TABLES),
        'evaluate labels': (['evaluate', 'labels', str(golden / 'evaluate/labels.csv'), '--models',
                             str(golden / 'evaluate/models')], PICTURES),
        'evaluate kernels': (['evaluate', 'kernels', 'linear.csv'], PICTURES),
        'evaluate steps': (['evaluate', 'steps', str(golden / 'evaluate/steps.csv')], PICTURES),
        'evaluate traffic': (['evaluate', 'traffic', 'random', '--count', '3'], PICTURES),
        'evaluate tiles': (['evaluate', 'tiles', 'tiles.csv'], PICTURES),
        'evaluate nodes': (['evaluate', 'nodes', str(golden / 'evaluate/nodes.csv'), '--models',
                            str(golden / 'evaluate/models')], PICTURES),
        'evaluate calibrate': (['evaluate', 'calibrate', str(golden / 'evaluate/two_steps.csv')],
                               PICTURES),
        'calibrate': (['calibrate', str(golden / 'calibrate/rows/measured.csv'), '--gpu',
                       'h100-sxm'], PICTURES),
        'calibrate step': (['calibrate', '--gpu', 'l4', '--step', 'gpt2', '--measured', '30ms'],
                           PICTURES),
        'suggestions': (['calibrate', '--gpu', 'l4', '--suggest', '6'], PICTURES),
        'fit --inspect': (['fit', '--inspect', 'linear.csv'], TABLES),
        'gpus': (['gpus'], TABLES),
        'a GPU': (['gpus', 'h100-sxm'], TABLES),
        'lint': (['gpus', '--lint'], TABLES),
        'models': (['models'], TABLES),
    }


ROWS = 'op,device,set,latency_ms,b,m,n,k\n' + ''.join(
    f'linear,NVIDIA L4,train,{0.5 + 0.1 * i},1,1024,1024,{256 * (i + 1)}\n' for i in range(4))


# Of three GPUs, with the tile that was launched.
TILES = 'op,device,set,latency_ms,b,m,n,k,kernel\n' + ''.join(
    f'linear,{gpu},train,{0.01 + 2.4e-9 * m * n * k / rate:.5f},1,{m},{n},{k},'
    f'ampere_sgemm_128x{64 if m * n < 2**21 else 128}_tn\n'
    for gpu, rate in (('NVIDIA L4', 20), ('NVIDIA T4', 6), ('NVIDIA A100-PCIE-40GB', 15))
    for m in (512, 1024, 2048) for n in (512, 1024, 2048) for k in (256, 1024, 4096))


def same_tracks_do_not_overlap(test, events):
    """Complete events of one thread follow each other in the nanoseconds to which Perfetto cuts them: it
    drops those that overlap without one holding the other."""
    ends = {}
    for event in events:
        start, duration = int(event['ts'] * 1000), int(event['dur'] * 1000)
        test.assertGreaterEqual(start, ends.get(event['tid'], 0), event)
        ends[event['tid']] = start + duration


class Formats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / 'linear.csv').write_text(ROWS)
        (self.root / 'tiles.csv').write_text(TILES)
        (self.root / 'ert.json').write_text(json.dumps({
            'empirical': {'metadata': {}, 'gbytes': {'data': [['L1', 1000.0], ['DRAM', 100.0]]},
                          'gflops': {'data': [['FP64 GFLOPs', 500.0]]}}}))

    def tearDown(self):
        self.folder.cleanup()

    def run_rooftile(self, arguments, code=0):
        done = subprocess.run([ROOFTILE, *arguments], cwd=self.root, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, f'{arguments}: {done.stderr}')
        return done.stdout

    def each(self, wanted):
        for name, (arguments, formats) in commands().items():
            if wanted in formats:
                yield name, self.run_rooftile([*arguments, '--format', wanted])

    def test_every_command_is_here(self):
        listed = self.run_rooftile(['--help']).split('\nOptions:')[0]
        commands_of = {arguments[0] for arguments, _ in commands().values()}
        self.assertEqual(set(re.findall(r'(?m)^  ([a-z]+) +[a-z]', listed)), commands_of)
        kinds = self.run_rooftile(['evaluate', '--help']).split('\nExamples:')[0]
        self.assertEqual({f'evaluate {kind}' for kind in re.findall(r'(?m)^  ([a-z]+) ', kinds)},
                         {name for name in commands() if name.startswith('evaluate ')})

    def test_the_page_of_gpu_files_lists_every_lint_rule(self):
        rules = int(re.search(r'(\d+) rules', self.run_rooftile(['gpus', '--lint']))[1])
        page = (SOURCE / 'docs/format/gpu.md').read_text().split('| rule | checks |')[1]
        listed = re.findall(r'(?m)^\| `([a-z0-9-]+)` \|', page.split('\n\n')[0])
        self.assertEqual(len(set(listed)), rules)

    def test_help_names_the_formats(self):
        for name, (arguments, formats) in commands().items():
            path = arguments[:2] if arguments[0] == 'evaluate' else arguments[:1]
            if name in ('characterize', 'kernel'):
                continue  # has charts where it measures; has kinds
            text = ' '.join(self.run_rooftile(['help', *path]).split())
            offered = re.search(r'how to write the result: ([a-z, ]+?) \(default', text)[1]
            self.assertEqual(set(offered.split(', ')), formats, name)

    def test_text_fits_into_every_terminal(self):
        for width in (60, 80, 120, 160):
            os.environ['COLUMNS'] = str(width)
            for name, text in self.each('text'):
                self.assertNotIn('\033', text)
                self.assertGreater(len(text.splitlines()), 3)
                for line in text.splitlines():
                    self.assertLessEqual(len(line), width, f'{name}: {line}')
        del os.environ['COLUMNS']

    def test_json_is_read_back_as_it_is(self):
        for name, text in self.each('json'):
            tree = json.loads(text)
            self.assertIn('schema', tree, name)

    def test_csv_has_a_header_and_as_many_fields_in_every_line(self):
        for name, text in self.each('csv'):
            rows = list(csv.reader(io.StringIO(text)))
            self.assertGreater(len(rows), 1, name)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, name)
            self.assertEqual(len(set(rows[0])), len(rows[0]), f'{name}: columns twice: {rows[0]}')

    def test_markdown_tables_are_rectangular(self):
        for name, text in self.each('markdown'):
            self.assertTrue(text.startswith('# '), name)
            block = []
            for line in [*text.splitlines(), '']:
                if line.startswith('|'):
                    block.append(line.replace('\\\\|', '').count('|'))
                elif block:
                    self.assertEqual(len(set(block)), 1, f'{name}: {line}')
                    block = []

    def test_svg_is_xml_of_a_sensible_size(self):
        for name, text in self.each('svg'):
            root = xml.etree.ElementTree.fromstring(text)
            self.assertTrue(root.tag.endswith('svg'), name)
            self.assertGreater(float(root.get('width')), 300, name)
            self.assertGreater(float(root.get('height')), 100, name)
            self.assertLess(float(root.get('height')), 1600, name)
            self.assertNotIn('nan', text)

    def test_html_holds_what_json_prints(self):
        for name, page in self.each('html'):
            class Data(html.parser.HTMLParser):
                inside, text = False, ''

                def handle_starttag(self, tag, attrs):
                    self.inside = ('id', 'rooftile-data') in attrs

                def handle_data(self, data):
                    if self.inside:
                        self.text += data

                def handle_endtag(self, tag):
                    self.inside = False
            parser = Data()
            parser.feed(page)
            document = json.loads(parser.text)
            self.assertTrue(document['title'], name)
            arguments, _ = commands()[name]
            tree = json.loads(self.run_rooftile([*arguments, '--format', 'json']))
            self.assertEqual(document['data'], tree, name)
            self.assertTrue(any(s['type'] in ('bars', 'curves', 'roofline')
                                for s in document['sections']), name)

    def test_the_trace_follows_the_rules_of_its_format(self):
        for command, text in self.each('trace'):
            trace = json.loads(text)
            self.assertIn(trace['displayTimeUnit'], ('ms', 'ns'))
            events = trace['traceEvents']
            names = {e['tid']: e['args']['name'] for e in events if e['name'] == 'thread_name'}
            slices = [e for e in events if e['ph'] == 'X']
            self.assertEqual({e['ph'] for e in events}, {'X', 'M'})
            for event in slices:
                for key in ('name', 'cat', 'ts', 'dur', 'pid', 'tid'):
                    self.assertIn(key, event)
                self.assertGreaterEqual(event['ts'], 0)
                self.assertGreaterEqual(event['dur'], 0)
                self.assertIn(event['tid'], names)
            same_tracks_do_not_overlap(self, slices)
            tracks = {names[e['tid']].split(':')[0] for e in slices}
            wanted = {'phase', 'layer', 'stream 0'}
            if command == 'predict on GPUs':
                wanted |= {'stream 1', 'stream 2'}
            self.assertLessEqual(wanted, tracks)
            threads = [e['tid'] for e in events if e['name'] == 'thread_name']
            self.assertEqual(len(set(threads)), len(threads), 'a thread is named once')
            report = json.loads(self.run_rooftile([*commands()[command][0], '--format', 'json']))
            launches = sum(o['count'] for o in report['operators'])
            kernels = [e for e in slices if names[e['tid']].startswith('stream')]
            self.assertEqual(len(kernels), launches, 'one event per launch')
            end = max(e['ts'] + e['dur'] for e in slices)
            self.assertAlmostEqual(end / 1e3, report['latency']['total_ms'], places=6)

    def test_what_a_command_does_not_offer_is_a_usage_error(self):
        everything = PICTURES | {'trace'}
        for name, (arguments, formats) in commands().items():
            for absent in everything - formats:
                if name == 'characterize':
                    continue  # has charts where it measures
                self.run_rooftile([*arguments, '--format', absent], code=2)


if __name__ == '__main__':
    SOURCE = pathlib.Path(sys.argv.pop(2)).resolve()
    ROOFTILE = sys.argv.pop(1)
    unittest.main()
