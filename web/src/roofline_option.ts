// SPDX-License-Identifier: Apache-2.0
//
// The two charts of measured kernels as ECharts options.
//   hierarchical: intensity (FLOP/byte) against GFLOP/s, one marker per kernel and memory level
//   time-based:   the time the bytes need against the time the FLOPs need; a line leads from each
//                 kernel to what its measured time would have allowed [arXiv 2009.04598]

import type { Option } from './chart';
import { decade, digits, levelName, si } from './format';
import { type RoofLine, roofSeries } from './roofs';
import { SYMBOLS, type Theme } from './theme';
import { tooltip } from './tooltip';
import { type Kernel, type Level, type Roofline } from './types';

export interface Shown {
  roofline: Roofline;
  kernels: number[]; // indices of the kernels that pass the filters, longest first
  levels: Level[];
  precisions: string[];
  picked: number | null;
  narrow: boolean;
  theme: Theme;
}

export interface Axes {
  x: [number, number];
  y: [number, number];
}

/** The values with a little room, at least two decades. */
export function range(values: number[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    low = Math.min(low, Math.log10(value) - 0.2);
    high = Math.max(high, Math.log10(value) + 0.2);
  }
  if (low > high) return [0.1, 10];
  const missing = Math.max(0, 2 - (high - low)) / 2;
  return [10 ** (low - missing), 10 ** (high + missing)];
}

/** Area follows time: 6 to 34 pixels across. */
export function markerSize(fraction: number, largest: number): number {
  return 6 + 28 * Math.sqrt(Math.max(0, fraction) / (largest || 1));
}

function axis(name: string, limits: [number, number], theme: Theme, gap: number): Option {
  return {
    type: 'log',
    min: limits[0],
    max: limits[1],
    name,
    nameLocation: 'middle',
    nameGap: gap,
    nameTextStyle: { color: theme.text, fontSize: 13 },
    axisLabel: {
      color: theme.muted,
      formatter: (v: number) => decade(v),
      hideOverlap: true,
      showMinLabel: false,
      showMaxLabel: false,
    },
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.muted } },
    axisTick: { show: true, lineStyle: { color: theme.muted } },
    splitLine: { show: true, lineStyle: { color: theme.grid } },
    minorTick: { show: false },
  };
}

export function frame(names: [string, string], axes: Axes, theme: Theme, narrow: boolean): Option {
  return {
    animation: false,
    backgroundColor: theme.background,
    textStyle: { fontFamily: 'system-ui, sans-serif' },
    grid: { left: narrow ? 62 : 78, right: 20, top: 18, bottom: 52, containLabel: false },
    xAxis: axis(names[0], axes.x, theme, 30),
    yAxis: axis(names[1], axes.y, theme, narrow ? 46 : 60),
    tooltip: {
      confine: true,
      backgroundColor: theme.background,
      borderColor: theme.grid,
      textStyle: { color: theme.text, fontSize: 13 },
      extraCssText: 'max-width:min(520px,90vw);white-space:normal;overflow-wrap:anywhere',
    },
    dataZoom: [
      { type: 'inside', xAxisIndex: 0, filterMode: 'none' },
      { type: 'inside', yAxisIndex: 0, filterMode: 'none' },
    ],
  };
}

/** Roofs of the same height become one line with all their names. */
function computeRoofs(shown: Shown): { names: string[]; gflops: number }[] {
  const merged: { names: string[]; gflops: number }[] = [];
  for (const [name, roof] of Object.entries(shown.roofline.ceilings.compute)) {
    if (!shown.precisions.includes(name)) continue;
    const same = merged.find((m) => Math.abs(m.gflops / roof.gflops - 1) < 0.005);
    if (same) same.names.push(name);
    else merged.push({ names: [name], gflops: roof.gflops });
  }
  return merged.sort((a, b) => b.gflops - a.gflops);
}

export function hierarchicalAxes(shown: Shown): Axes {
  const xs: number[] = [];
  const ys: number[] = [];
  for (const kernel of shown.roofline.kernels) {
    if (!kernel.gflops) continue;
    ys.push(kernel.gflops);
    for (const x of Object.values(kernel.intensity)) if (x) xs.push(x);
    if (kernel.predicted) {
      ys.push(kernel.predicted.gflops);
      for (const x of Object.values(kernel.predicted.intensity)) if (x) xs.push(x);
    }
  }
  for (const compute of computeRoofs(shown)) {
    ys.push(compute.gflops);
    for (const memory of Object.values(shown.roofline.ceilings.bandwidth)) {
      xs.push(compute.gflops / memory.gbps);
    }
  }
  return { x: range(xs), y: range(ys) };
}

function roofLines(shown: Shown, axes: Axes): RoofLine[] {
  const compute = computeRoofs(shown);
  const memory = Object.entries(shown.roofline.ceilings.bandwidth).filter(
    ([name]) => !(name in SYMBOLS) || shown.levels.includes(name as Level),
  );
  const highest = compute.length > 0 ? compute[0]!.gflops : axes.y[1];
  const widest = Math.max(0, ...memory.map(([, roof]) => roof.gbps));
  const lines: RoofLine[] = memory.map(([name, roof]) => ({
    kind: 'memory',
    label: `${levelName(name)} ${si(roof.gbps * 1e9, 'B/s')}`,
    from: [axes.y[0] / 100 / roof.gbps, axes.y[0] / 100],
    to: [highest / roof.gbps, highest],
  }));
  const binary = shown.roofline.gflops_unit.startsWith('2');
  for (const { names, gflops } of compute) {
    const from = widest > 0 ? gflops / widest : axes.x[0];
    lines.push({
      kind: 'compute',
      label: `${names.join(', ')} ${binary ? `${digits(gflops)} GiFLOP/s` : si(gflops * 1e9, 'FLOP/s')}`,
      from: [from, gflops],
      to: [Math.max(axes.x[1], from * 1.01), gflops],
    });
  }
  return lines;
}

function item(kernel: Kernel, index: number, x: number, y: number, size: number, picked: number | null): Option {
  const other = picked !== null && picked !== index;
  return {
    value: [x, y],
    kernel: index,
    symbolSize: size,
    itemStyle: { opacity: other ? 0.15 : 0.78 },
    name: kernel.short_name,
  };
}

function levelSeries(shown: Shown, level: Level, largest: number): Option {
  const data: Option[] = [];
  // Small markers are drawn last, on top of large ones.
  for (const index of shown.kernels) {
    const kernel = shown.roofline.kernels[index]!;
    const x = kernel.intensity[level];
    if (!x || !kernel.gflops) continue;
    const size = markerSize(kernel.time_fraction, largest);
    data.push(item(kernel, index, x, kernel.gflops, size, shown.picked));
  }
  return {
    type: 'scatter',
    name: levelName(level),
    z: 3,
    symbol: SYMBOLS[level],
    itemStyle: {
      color: shown.theme.level[level],
      borderColor: shown.theme.background,
      borderWidth: 0.8,
    },
    emphasis: { scale: 1.15, itemStyle: { opacity: 1, borderColor: shown.theme.text } },
    data,
  };
}

function predictedSeries(shown: Shown, level: Level, largest: number): Option {
  const data: Option[] = [];
  for (const index of shown.kernels) {
    const kernel = shown.roofline.kernels[index]!;
    const x = kernel.predicted?.intensity[level];
    if (!kernel.predicted || !x) continue;
    const size = markerSize(kernel.time_fraction, largest);
    data.push(item(kernel, index, x, kernel.predicted.gflops, size, shown.picked));
  }
  return {
    type: 'scatter',
    name: `${levelName(level)}, predicted`,
    z: 4,
    symbol: SYMBOLS[level],
    itemStyle: {
      color: 'transparent',
      borderColor: shown.theme.level[level],
      borderWidth: 1.8,
      borderType: 'dashed',
    },
    emphasis: { scale: 1.15 },
    data,
  };
}

/** The markers of one kernel on a common line. */
function connector(shown: Shown): Option[] {
  const kernel = shown.picked === null ? undefined : shown.roofline.kernels[shown.picked];
  if (!kernel?.gflops) return [];
  const xs = shown.levels.map((l) => kernel.intensity[l]).filter((x): x is number => !!x);
  return [
    {
      type: 'line',
      silent: true,
      symbol: 'none',
      z: 2,
      lineStyle: { color: shown.theme.accent, width: 1.5, type: 'dashed' },
      data: xs.sort((a, b) => a - b).map((x) => [x, kernel.gflops]),
    },
  ];
}

function largestShare(shown: Shown): number {
  return Math.max(1e-12, ...shown.roofline.kernels.map((k) => k.time_fraction));
}

export function hierarchicalOption(shown: Shown): Option {
  const axes = hierarchicalAxes(shown);
  const largest = largestShare(shown);
  const unit = shown.roofline.gflops_unit.startsWith('2') ? 'GiFLOP/s' : 'GFLOP/s';
  const option = frame(['arithmetic intensity, FLOP/byte', unit], axes, shown.theme, shown.narrow);
  const predicted = shown.roofline.kernels.some((k) => k.predicted);
  option.tooltip.formatter = tooltip(shown.roofline);
  option.series = [
    roofSeries(roofLines(shown, axes), shown.theme),
    ...connector(shown),
    ...shown.levels.map((level) => levelSeries(shown, level, largest)),
    ...(predicted ? shown.levels.map((level) => predictedSeries(shown, level, largest)) : []),
  ];
  return option;
}

interface TimePoint {
  index: number;
  ideal: [number, number];
  measured: [number, number];
}

/** Kernels without FLOPs sit on the lower edge, `floor`. */
function timePoints(shown: Shown, level: Level): TimePoint[] {
  const points: TimePoint[] = [];
  for (const index of shown.kernels) {
    const kernel = shown.roofline.kernels[index]!;
    const bytes = kernel.terms[`${level}_ms`];
    const flops = kernel.flops === 0 ? 0 : kernel.terms.compute_ms;
    if (!bytes || flops === null || flops === undefined || !kernel.time_ms) continue;
    const stretch = kernel.time_ms / Math.max(bytes, flops);
    points.push({
      index,
      ideal: [bytes, flops],
      measured: [bytes * stretch, flops * stretch],
    });
  }
  return points;
}

/** Where bytes and FLOPs take equally long; for a chosen kernel also what its launches cost. */
function timeGuides(axes: Axes, launch: number | null): RoofLine[] {
  const low = Math.min(axes.x[0], axes.y[0]);
  const high = Math.max(axes.x[1], axes.y[1]);
  const lines: RoofLine[] = [
    { kind: 'memory', label: 'machine balance', from: [low, low], to: [high, high] },
  ];
  if (launch) {
    lines.push({ kind: 'guide', label: '', from: [launch, low], to: [launch, launch] });
    lines.push({ kind: 'guide', label: 'its launches', from: [low, launch], to: [launch, launch] });
  }
  return lines;
}

export function timeOption(shown: Shown, level: Level): Option {
  const points = timePoints(shown, level);
  const all = points.flatMap((p) => [p.ideal, p.measured]);
  const x = range(all.map((p) => p[0]));
  const y = range(all.map((p) => p[1]));
  const axes: Axes = { x, y };
  const floor = y[0] * 1.12;
  const place = (p: [number, number]): [number, number] => [p[0], Math.max(p[1], floor)];
  const largest = largestShare(shown);
  const names: [string, string] = [
    `time that the ${levelName(level)} bytes need, ms`,
    'time that the FLOPs need, ms',
  ];
  const option = frame(names, axes, shown.theme, shown.narrow);
  option.tooltip.formatter = tooltip(shown.roofline);
  const color = shown.theme.level[level];
  const chosen = shown.picked === null ? undefined : shown.roofline.kernels[shown.picked];
  const launch = chosen?.terms.launch_ms ?? null;
  const series = [roofSeries(timeGuides(axes, launch), shown.theme)];
  const segments = (chosen: TimePoint[], stroke: string, width: number, opacity: number): Option => ({
    type: 'line',
    silent: true,
    symbol: 'none',
    z: 2,
    lineStyle: { color: stroke, width, opacity },
    // An empty point ends each segment.
    data: chosen.flatMap((p) => [place(p.ideal), place(p.measured), ['-', '-']]),
  });
  const isPicked = (p: TimePoint) => p.index === shown.picked;
  const dim = points.some(isPicked) ? 0.12 : 0.6;
  series.push(segments(points.filter((p) => !isPicked(p)), color ?? '', 1, dim));
  series.push(segments(points.filter(isPicked), shown.theme.accent, 2, 1));
  const scatter = (which: 'ideal' | 'measured', hollow: boolean): Option => ({
    type: 'scatter',
    name: which,
    z: hollow ? 3 : 4,
    symbol: SYMBOLS[level],
    itemStyle: hollow
      ? { color: shown.theme.background, borderColor: color, borderWidth: 1.5 }
      : { color, borderColor: shown.theme.background, borderWidth: 0.8 },
    data: points.map((p) => {
      const kernel = shown.roofline.kernels[p.index]!;
      const at = place(p[which]);
      const size = hollow ? 7 : markerSize(kernel.time_fraction, largest);
      return item(kernel, p.index, at[0], at[1], size, shown.picked);
    }),
  });
  series.push(scatter('ideal', true), scatter('measured', false));
  option.series = series;
  return option;
}

/** Why the time-based chart has nothing to show, or null. */
export function timeObstacle(roofline: Roofline, level: Level): string | null {
  const any = roofline.kernels.some((k) => k.terms[`${level}_ms`] && k.time_ms);
  if (any) return null;
  return `no kernel has a time, ${levelName(level)} bytes and a roof for them`;
}

