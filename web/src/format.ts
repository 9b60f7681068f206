// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text: three or four digits, SI prefixes, the same everywhere on the page.

const PREFIXES: [number, string][] = [
  [1e18, 'E'],
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
];

/** 3 significant digits, without an exponent for everyday sizes. */
export function digits(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(2);
  if (size >= 999.5) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

export function si(value: number, unit: string): string {
  for (const [scale, prefix] of PREFIXES) {
    if (Math.abs(value) >= scale * 0.9995) {
      const scaled = value / scale;
      const text = scaled >= 999.5 ? scaled.toFixed(0) : String(Number(scaled.toPrecision(3)));
      return `${text} ${prefix}${unit}`;
    }
  }
  return `${digits(value)} ${unit}`;
}

/** 1024-based: cache sizes and working sets. */
export function binaryBytes(value: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let scaled = value;
  let i = 0;
  while (scaled >= 1024 && i + 1 < names.length) {
    scaled /= 1024;
    ++i;
  }
  return `${Number(scaled.toPrecision(3))} ${names[i]}`;
}

/** As in the text reports: four digits that do not jump from row to row. */
export function time(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  const size = Math.abs(ms);
  if (size === 0) return '0 ms';
  if (size >= 1e3) return `${(ms / 1e3).toFixed(2)} s`;
  if (size >= 100) return `${ms.toFixed(1)} ms`;
  if (size >= 1) return `${ms.toFixed(2)} ms`;
  if (size >= 1e-3) return `${(ms * 1e3).toFixed(1)} us`;
  return `${Number((ms * 1e6).toPrecision(3))} ns`;
}

export function percent(fraction: number | null | undefined): string {
  if (fraction === null || fraction === undefined) return '-';
  const value = fraction * 100;
  return value >= 99.95 || value === 0 ? `${value.toFixed(0)} %` : `${value.toFixed(1)} %`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

export function optional(value: number | null | undefined): string {
  return value === null || value === undefined ? '-' : digits(value);
}

export const LEVEL_NAMES: Record<string, string> = { l1: 'L1', l2: 'L2', dram: 'DRAM' };
export function levelName(level: string): string {
  return LEVEL_NAMES[level] ?? level;
}

/** Axis labels of decades: 0.01, 1, 1,000. */
export function decade(value: number): string {
  if (value >= 1e7 || value < 9e-5) return `1e${Math.round(Math.log10(value))}`;
  return value >= 1000 ? value.toLocaleString('en-US') : String(Number(value.toPrecision(1)));
}
