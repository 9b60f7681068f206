// SPDX-License-Identifier: Apache-2.0
//
// The two charts of measured kernels as ECharts options.
//   hierarchical: intensity (FLOP/byte) against GFLOP/s, one marker per kernel and memory level
//   time-based:   the time the bytes need against the time the FLOPs need; a line leads from each
//                 kernel to what its measured time would have allowed [arXiv 2009.04598]

import type { Option } from './chart';
import { count, decade, digits, levelName, si, time } from './format';
import { type RoofLine, roofSeries } from './roofs';
import { runStyle, SYMBOLS, type Theme } from './theme';
import { tooltip } from './tooltip';
import { type Kernel, type Level, type Roofline } from './types';
import { operationName, operationsOf, rateUnit, runOf } from './words';

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

/** The values with a little room, at least two decades; `above` is a share left free for names. */
export function range(values: number[], above = 0): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    low = Math.min(low, Math.log10(value) - 0.2);
    high = Math.max(high, Math.log10(value) + 0.2);
  }
  if (low > high) return [0.1, 10];
  const missing = Math.max(0, 2 - (high - low)) / 2;
  return [10 ** (low - missing), 10 ** (high + missing + above * (high - low))];
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
    const same = merged.find(
      (m) =>
        Math.abs(m.gflops / roof.gflops - 1) < 0.005 && operationName(m.names[0]!) === operationName(name),
    );
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
  return { x: range(xs), y: range(ys, 0.05) };
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
  const unit = (names: string[]) => `${operationName(names[0]!)}/s`;
  for (const { names, gflops } of compute) {
    const from = widest > 0 ? gflops / widest : axes.x[0];
    lines.push({
      kind: 'compute',
      label: `${names.join(', ')} ${binary ? `${digits(gflops)} Gi${unit(names)}` : si(gflops * 1e9, unit(names))}`,
      from: [from, gflops],
      to: [Math.max(axes.x[1], from * 1.01), gflops],
    });
  }
  return lines;
}

function item(
  kernel: Kernel, index: number, x: number, y: number, size: number, picked: number | null,
  style: Record<string, unknown> = {},
): Option {
  const other = picked !== null && picked !== index;
  return {
    value: [x, y],
    kernel: index,
    symbolSize: size,
    itemStyle: { opacity: 0.8, ...style, ...(other ? { opacity: 0.15 } : {}) },
    name: kernel.short_name,
  };
}

// Kernels whose names stand in the chart, and how long these may be; in a narrow window fewer.
const NAMED = { wide: { kernels: 8, letters: 44 }, narrow: { kernels: 3, letters: 24 } };

/** Names on top of all markers, with a halo. */
function nameSeries(shown: Shown, largest: number, axes: Axes): Option {
  const level = shown.levels[shown.levels.length - 1];
  const data: Option[] = [];
  for (const index of level === undefined ? [] : shown.kernels) {
    const kernel = shown.roofline.kernels[index]!;
    const x = kernel.intensity[level!];
    if (!x || !kernel.gflops) continue;
    const place = { value: [x, kernel.gflops], symbolSize: markerSize(kernel.time_fraction, largest) };
    data.push({ ...place, ...nameLabel(kernel, data.length, x, axes, shown) });
  }
  return {
    type: 'scatter', name: 'names', silent: true, z: 6, itemStyle: { color: 'transparent' },
    labelLayout: { hideOverlap: true, moveOverlap: 'shiftY' }, data: data.filter((point) => point.label),
  };
}

/**
 * The longest kernels have their names, as far as these do not cover each other. Names at the sides
 * grow towards the middle.
 */
function nameLabel(kernel: Kernel, rank: number, x: number, axes: Axes, shown: Shown): Option {
  const theme = shown.theme;
  const { kernels, letters } = shown.narrow ? NAMED.narrow : NAMED.wide;
  if (rank >= kernels) return {};
  const whole = kernel.short_name;
  const head = Math.round(letters * 0.36);
  const name = whole.length > letters ? `${whole.slice(0, head)}..${whole.slice(head + 2 - letters)}` : whole;
  const place = Math.log(x / axes.x[0]) / Math.log(axes.x[1] / axes.x[0]);
  const align = place < 0.2 ? 'left' : place > 0.8 ? 'right' : 'center';
  return {
    label: {
      show: true, formatter: () => name, position: 'bottom', align, color: theme.text, opacity: 1, fontSize: 11,
      textBorderColor: theme.background, textBorderWidth: 3,
    },
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
    const style = runStyle(shown.theme.level[level]!, runOf(shown.roofline, kernel), shown.theme);
    data.push(item(kernel, index, x, kernel.gflops, size, shown.picked, style));
  }
  return {
    type: 'scatter',
    name: levelName(level),
    z: 3,
    symbol: SYMBOLS[level],
    emphasis: { scale: 1.15, itemStyle: { opacity: 1, borderColor: shown.theme.text } },
    data,
  };
}

const ARROW = { upRight: 'path://M0,8L8,0M3,0L8,0L8,5', up: 'path://M4,8L4,0M0,4L4,0L8,4' };
const ARROW_SIZE = 8;

interface Bound {
  index: number;
  at: [number, number];
  size: number; // of the marker that the arrow leaves
}

/** Arrows at markers whose true place is further on, since FLOP counters are missing. */
function arrowSeries(shown: Shown, bounds: Bound[], way: keyof typeof ARROW): Option {
  return {
    type: 'scatter',
    name: 'lower bounds',
    silent: true,
    z: 5,
    symbol: ARROW[way],
    itemStyle: { color: 'transparent', borderColor: shown.theme.text, borderWidth: 1.3 },
    data: bounds.map(({ index, at, size }) => {
      const off = size * (way === 'up' ? 0.5 : 0.35) + ARROW_SIZE / 2 + 1;
      const kernel = shown.roofline.kernels[index]!;
      return {
        ...item(kernel, index, at[0], at[1], ARROW_SIZE, shown.picked),
        symbolOffset: [way === 'up' ? 0 : off, -off],
      };
    }),
  };
}

function lowerBounds(shown: Shown, level: Level, largest: number): Bound[] {
  return shown.kernels.flatMap((index) => {
    const kernel = shown.roofline.kernels[index]!;
    const x = kernel.intensity[level];
    if (kernel.flops_complete || !x || !kernel.gflops) return [];
    return [{ index, at: [x, kernel.gflops] as [number, number], size: markerSize(kernel.time_fraction, largest) }];
  });
}

/** Rings around markers above their roof; the legend says why. */
function ringSeries(shown: Shown, largest: number): Option {
  const data: Option[] = [];
  const ring = (index: number, x: number | null | undefined, y: number | null) => {
    const kernel = shown.roofline.kernels[index]!;
    if (!x || !y) return;
    data.push(item(kernel, index, x, y, markerSize(kernel.time_fraction, largest) + 8, shown.picked));
  };
  for (const index of shown.kernels) {
    const kernel = shown.roofline.kernels[index]!;
    for (const level of shown.levels) {
      if (kernel.above_roof) ring(index, kernel.intensity[level], kernel.gflops);
      if (kernel.predicted?.above_roof) ring(index, kernel.predicted.intensity[level], kernel.predicted.gflops);
    }
  }
  return {
    type: 'scatter',
    name: 'above the roof',
    silent: true,
    z: 5,
    symbol: 'circle',
    itemStyle: { color: 'transparent', borderColor: shown.theme.text, borderWidth: 1.2, borderType: 'dashed' },
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
  const names: [string, string] = [
    `arithmetic intensity, ${operationsOf(shown.roofline.kernels)}/byte`,
    rateUnit(shown.roofline),
  ];
  const option = frame(names, axes, shown.theme, shown.narrow);
  const predicted = shown.roofline.kernels.some((k) => k.predicted);
  option.tooltip.formatter = tooltip(shown.roofline);
  option.series = [
    ...roofSeries(roofLines(shown, axes), shown.theme),
    ...connector(shown),
    ...shown.levels.map((level) => levelSeries(shown, level, largest)),
    arrowSeries(shown, shown.levels.flatMap((level) => lowerBounds(shown, level, largest)), 'upRight'),
    ...(predicted ? shown.levels.map((level) => predictedSeries(shown, level, largest)) : []),
    ringSeries(shown, largest),
    nameSeries(shown, largest, axes),
  ];
  return option;
}

// Not a level's marker: those differ in fill from run to run.
const CROSS = 'path://M0,4L8,4M4,0L4,8';
const CROSS_SIZE = 8;

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

/**
 * What the launches cost: of the chosen kernel, else of those with the fewest and the most launches.
 * A kernel whose bytes and FLOPs both need less than its launches lies inside their box.
 */
export function launchBoxes(shown: Shown, points: TimePoint[]): { ms: number; label: string }[] {
  const all = shown.roofline.kernels;
  const chosen = shown.picked === null ? [] : [all[shown.picked]!];
  const kernels = (chosen.length > 0 ? chosen : points.map((p) => all[p.index]!)).filter(
    (k) => k.launches > 0 && k.terms.launch_ms,
  );
  if (kernels.length === 0) return [];
  const sorted = [...kernels].sort((a, b) => a.launches - b.launches);
  const ends = [sorted[0]!, sorted[sorted.length - 1]!];
  const shownEnds = ends[0]!.launches === ends[1]!.launches ? [ends[1]!] : ends;
  return shownEnds.map((k) => ({
    ms: k.terms.launch_ms!,
    label: `${count(k.launches)} ${k.launches === 1 ? 'launch' : 'launches'}: ${time(k.terms.launch_ms)}`,
  }));
}

/** Where bytes and FLOPs take equally long, and the boxes of the launches. */
function timeGuides(axes: Axes, boxes: { ms: number; label: string }[]): RoofLine[] {
  const low = Math.min(axes.x[0], axes.y[0]);
  const high = Math.max(axes.x[1], axes.y[1]);
  const lines: RoofLine[] = [
    { kind: 'memory', label: 'machine balance', from: [low, low], to: [high, high] },
  ];
  for (const { ms, label } of boxes) {
    // The name is on the flat side, or on the upright one where only that is in sight.
    const flat = ms < axes.y[1];
    lines.push({ kind: 'guide', label: flat ? '' : label, from: [ms, low], to: [ms, ms] });
    lines.push({ kind: 'guide', label: flat ? label : '', from: [low, ms], to: [ms, ms] });
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
    `time that the ${operationsOf(shown.roofline.kernels)}s need, ms`,
  ];
  const option = frame(names, axes, shown.theme, shown.narrow);
  option.tooltip.formatter = tooltip(shown.roofline);
  const color = shown.theme.level[level];
  const series = roofSeries(timeGuides(axes, launchBoxes(shown, points)), shown.theme);
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
  const scatter = (which: 'ideal' | 'measured'): Option => ({
    type: 'scatter',
    name: which,
    z: which === 'ideal' ? 3 : 4,
    symbol: which === 'ideal' ? CROSS : SYMBOLS[level],
    data: points.map((p) => {
      const kernel = shown.roofline.kernels[p.index]!;
      const at = place(p[which]);
      const size = which === 'ideal' ? CROSS_SIZE : markerSize(kernel.time_fraction, largest);
      const style =
        which === 'ideal'
          ? { color: 'transparent', borderColor: color, borderWidth: 1.5 }
          : runStyle(color!, runOf(shown.roofline, kernel), shown.theme);
      return item(kernel, p.index, at[0], at[1], size, shown.picked, style);
    }),
  });
  const bounds = points
    .filter((p) => !shown.roofline.kernels[p.index]!.flops_complete)
    .map((p) => ({ index: p.index, at: place(p.ideal), size: CROSS_SIZE }));
  series.push(scatter('ideal'), scatter('measured'), arrowSeries(shown, bounds, 'up'));
  option.series = series;
  return option;
}

/** Why the time-based chart has nothing to show, or null. */
export function timeObstacle(roofline: Roofline, level: Level): string | null {
  const any = roofline.kernels.some((k) => k.terms[`${level}_ms`] && k.time_ms);
  if (any) return null;
  return `no kernel has a time, ${levelName(level)} bytes and a roof for them`;
}

