// SPDX-License-Identifier: Apache-2.0
//
// Downloads: the data as CSV and JSON, the chart as SVG and PNG.

import { LEVELS, type Kernel } from './types';

export function save(name: string, content: string, type: string): void {
  saveUrl(name, URL.createObjectURL(new Blob([content], { type })));
}

export function saveUrl(name: string, url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  if (url.startsWith('blob:')) setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A file name from a title: letters, digits, dots and dashes. */
export function fileName(title: string): string {
  const plain = title.replace(/[^A-Za-z0-9.]+/g, '-').replace(/^[-.]+|-+$/g, '');
  return plain.slice(0, 60) || 'rooftile';
}

/** As the program writes it: controls escaped, and an apostrophe before what a spreadsheet would run. */
function harmless(text: string): string {
  // eslint-disable-next-line no-control-regex
  const visible = text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => {
    const code = c.codePointAt(0)!.toString(16);
    return code.length > 2 || c > '\u007f' ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
  return /^[=+\-@]./.test(visible) ? `'${visible}` : visible;
}

function field(value: unknown): string {
  const text = value === null || value === undefined ? '' : typeof value === 'string' ? harmless(value) : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csv(header: string[], rows: unknown[][]): string {
  return [header, ...rows].map((row) => row.map(field).join(',')).join('\n') + '\n';
}

export function kernelsCsv(kernels: Kernel[]): string {
  const header = [
    'name', 'short_name', 'phase', 'launches', 'time_ms', 'time_fraction', 'flops',
    ...LEVELS.map((l) => `${l}_bytes`), ...LEVELS.map((l) => `${l}_intensity`),
    'gflops', 'limiter', 'compute_roof', 'bound_ms', 'fraction_of_roof', 'above_roof',
    'predicted_ms', 'predicted_low_ms', 'predicted_high_ms',
  ];
  return csv(
    header,
    kernels.map((k) => [
      k.name, k.short_name, k.phase, k.launches, k.time_ms, k.time_fraction, k.flops,
      ...LEVELS.map((l) => k.bytes[l]), ...LEVELS.map((l) => k.intensity[l]),
      k.gflops, k.limiter, k.compute_roof, k.bound_ms, k.fraction_of_roof, k.above_roof,
      k.predicted?.time_ms, k.predicted?.low_ms, k.predicted?.high_ms,
    ]),
  );
}
