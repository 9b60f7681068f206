// SPDX-License-Identifier: Apache-2.0
//
// What hovering over a marker shows. Built from DOM nodes with text, never from markup: kernel names
// come from files and may hold anything.

import { count, levelName, optional, percent, si, time } from './format';
import { type ByLevel, type Kernel, LEVELS, type Roofline } from './types';
import { atLeast, rateUnit } from './words';

type Row = [string, string];

/** Intensity per level, marked where it is a lower bound. */
export function intensities(values: ByLevel, complete: boolean): string {
  return LEVELS.map((l) => `${levelName(l)} ${lowerBound(values[l], complete)}`).join(' · ');
}

export function lowerBound(value: number | null, complete: boolean): string {
  return value === null ? '-' : `${atLeast(complete)}${optional(value)}`;
}

export function kernelRows(kernel: Kernel, roofline: Roofline): Row[] {
  const bound = atLeast(kernel.flops_complete);
  const rows: Row[] = [
    ['time', `${time(kernel.time_ms)}, ${percent(kernel.time_fraction)} of all`],
    ['launches', count(kernel.launches)],
    ['rate', kernel.gflops === null ? '-' : `${bound}${optional(kernel.gflops)} ${rateUnit(roofline)}`],
    ['intensity', intensities(kernel.intensity, kernel.flops_complete)],
    ['of roof', kernel.fraction_of_roof === null ? '-' : `${bound}${percent(kernel.fraction_of_roof)}`],
    ['limiter', limiterText(kernel)],
  ];
  if (kernel.above_roof) rows.push(['above the roof', kernel.above_roof]);
  if (roofline.phases.length > 1) rows.splice(1, 0, ['phase', kernel.phase]);
  if (kernel.predicted) {
    const p = kernel.predicted;
    rows.push(['predicted', `${time(p.time_ms)} (${time(p.low_ms)} to ${time(p.high_ms)})`]);
    const bytes = LEVELS.map((l) => `${levelName(l)} ${p.bytes[l] === null ? '-' : si(p.bytes[l]!, 'B')}`);
    rows.push(['predicted traffic', bytes.join(' · ')]);
    rows.push(['matched', `${p.match} ${p.shape}`]);
    if (p.above_roof) rows.push(['predicted above the roof', p.above_roof]);
  }
  if (!kernel.flops_complete) rows.push(['note', 'a FLOP counter is missing: a lower bound']);
  return rows;
}

export function limiterText(kernel: Kernel): string {
  if (!kernel.limiter) return '-';
  const roof = kernel.limiter === 'compute' ? (kernel.compute_roof ?? 'compute') : levelName(kernel.limiter);
  return kernel.launch_bound ? `${roof}, launch-bound` : roof;
}

export function tooltip(roofline: Roofline) {
  return (item: { data?: { kernel?: number }; seriesName?: string }): HTMLElement | string => {
    const kernel = roofline.kernels[item.data?.kernel ?? -1];
    if (!kernel) return '';
    const box = document.createElement('div');
    box.className = 'tip';
    const title = document.createElement('strong');
    title.textContent = kernel.name.length > 400 ? `${kernel.name.slice(0, 400)} ...` : kernel.name;
    box.append(title);
    const list = document.createElement('dl');
    for (const [name, value] of kernelRows(kernel, roofline)) {
      const dt = document.createElement('dt');
      dt.textContent = name;
      const dd = document.createElement('dd');
      dd.textContent = value;
      list.append(dt, dd);
    }
    box.append(list);
    return box;
  };
}
