#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the binary seeds of the fuzz targets ncu_report and database, small files of our own in the
layouts that docs/format/profiles.md describes, and that of weights: the shipped ones with the long
tables cut, because a long input takes long.

usage: tests/fuzz/make_seeds.py [CORPUS_FOLDER]
"""
import json
import os
import pathlib
import sqlite3
import struct
import sys
import tempfile


ROOT = pathlib.Path(__file__).resolve().parents[2]


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack('<d', value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def framed(message):
    return struct.pack('<I', len(message)) + message


METRICS = ['gpu__time_duration.sum', 'dram__bytes_read.sum', 'dram__bytes_write.sum',
           'lts__t_sectors.sum', 'smsp__cycles_elapsed.avg',
           'smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed',
           'smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed',
           'smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed',
           'sm__throughput.avg.pct_of_peak_sustained_elapsed']


def report(values, ranges=0, nvtx=()):
    results = b''
    for launch in values:
        metrics = b''
        for index, value in enumerate(launch):
            body = field(1, index)
            if value is not None:
                body += field(2, field(3 if isinstance(value, float) else 5, value))
            metrics += field(13, body)
        dims = field(1, 4) + field(2, 2) + field(3, 1)
        state = b''.join(field(2, field(1, 1) + field(2, name)) for name in nvtx)
        domain = field(1, field(1, 0) + field(2, '<default domain>'))
        results += framed(
            field(7, 'saxpy(float *)') + field(10, dims) + field(11, dims) + metrics +
            (field(21, domain + field(2, field(1, 77) + field(2, field(1, 0) + state)))
             if nvtx else b''))
    rest = framed(field(4, b'\x7fELF')) + results + framed(field(1, 1)) * ranges
    device = field(1, 0) + field(2, 'NVIDIA L4') + field(
        3, field(1, 'device__attribute_compute_capability_major') + field(2, field(1, '8')))
    header = (field(1, 1) + field(2, len(values)) + field(3, field(6, device)) +
              field(4, b''.join(field(1, name) for name in METRICS)) + field(5, len(rest)))
    if ranges:
        header += field(7, ranges)
    return b'NVR\0' + framed(field(1, 7)) + framed(header) + rest


def database(path, statements):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, 'x')
        connection = sqlite3.connect(name)
        connection.executescript('PRAGMA page_size = 512;' + statements)
        connection.commit()
        connection.close()
        path.write_bytes(pathlib.Path(name).read_bytes())


NSYS = '''
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(1, 'saxpy'), (2, 'gemm');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, correlationId, globalPid,
  demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 20, 0, 1, 16777216, 1, 4, 1, 1, 128, 1, 1),
  (30, 50, 0, 2, 16777216, 2, 4, 1, 1, 128, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, globalTid, correlationId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(5, 16777217, 1), (7, 16777217, 2);
CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid);
INSERT INTO NVTX_EVENTS VALUES(4, 9, 59, 'step', NULL, 16777217);
CREATE TABLE TARGET_INFO_GPU(id, name, cuDevice, smCount, computeMajor, computeMinor);
INSERT INTO TARGET_INFO_GPU VALUES(0, 'NVIDIA L4', 0, 58, 8, 9);
'''
ROCPD = '''
CREATE TABLE rocpd_info_kernel_symbol_1(id, display_name, kernel_name);
INSERT INTO rocpd_info_kernel_symbol_1 VALUES(5, 'gemm', 'x.kd');
CREATE TABLE rocpd_info_agent_1(id, type, name, product_name);
INSERT INTO rocpd_info_agent_1 VALUES(2, 'GPU', 'gfx942', 'AMD Instinct MI300X');
CREATE TABLE rocpd_kernel_dispatch_1(start, end, kernel_id, agent_id, event_id, grid_size_x,
  grid_size_y, grid_size_z, workgroup_size_x, workgroup_size_y, workgroup_size_z);
INSERT INTO rocpd_kernel_dispatch_1 VALUES(1, 9, 5, 2, 21, 512, 1, 1, 64, 1, 1);
CREATE TABLE rocpd_info_pmc_1(id, name);
INSERT INTO rocpd_info_pmc_1 VALUES(1, 'FETCH_SIZE');
CREATE TABLE rocpd_pmc_event_1(event_id, pmc_id, value);
INSERT INTO rocpd_pmc_event_1 VALUES(21, 1, 3.0);
'''
ROCPROF = '''
CREATE TABLE HIP(BeginNs, EndNs, Name);
CREATE TABLE OPS(BeginNs, EndNs, "dev-id", Name);
INSERT INTO OPS VALUES(10, 34, 4, 'vector_add');
CREATE TABLE COPY(BeginNs, EndNs, Name);
INSERT INTO COPY VALUES(1, 2, 'CopyHostToDevice');
'''


def cut(value):
    """Tables of neighbours are texts of six characters per entry."""
    if isinstance(value, dict):
        return {key: cut(each) for key, each in value.items()}
    return value[:24] if isinstance(value, str) and len(value) > 120 else value


def weights():
    shipped = json.loads((ROOT / 'data/predictors/default/weights.json').read_text())
    shipped['models'] = {'nvidia': shipped['models']['nvidia']}
    return json.dumps(cut(shipped))


def main():
    corpus = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else pathlib.Path(__file__).parent / 'corpus')
    for name in ('ncu_report', 'database', 'weights'):
        (corpus / name).mkdir(parents=True, exist_ok=True)
    (corpus / 'weights/default.json').write_text(weights())
    numbers = [1000.0, 4096.0, 1024.0, 100, 500.0, 4.0, 2.0, 0.0, 81.5]
    (corpus / 'ncu_report/two_launches').write_bytes(report([numbers, numbers]))
    (corpus / 'ncu_report/failed').write_bytes(report([[float('nan')] * 9, [None] * 9], ranges=1))
    (corpus / 'ncu_report/nvtx').write_bytes(report([numbers], nvtx=('step', 'forward')))
    for name, statements in (('nsys', NSYS), ('rocpd', ROCPD), ('rocprof', ROCPROF)):
        database(corpus / 'database' / name, statements)


if __name__ == '__main__':
    main()
