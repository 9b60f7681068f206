// SPDX-License-Identifier: Apache-2.0
//
// Roof lines below the markers and their labels above, as two ECharts custom series. Lines are
// straight on logarithmic axes; they are clipped to what is visible, so that labels stay on the
// screen when zoomed.

import type { Option } from './chart';
import type { Theme } from './theme';

export interface RoofLine {
  label: string;
  from: [number, number];
  to: [number, number];
  kind: 'memory' | 'compute' | 'guide';
}

type Pixel = [number, number];
interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The part of a segment inside a rectangle (Liang and Barsky), or null. */
export function clip(a: Pixel, b: Pixel, r: Rect): [Pixel, Pixel] | null {
  let t0 = 0;
  let t1 = 1;
  const dx = b[0] - a[0];
  const dy = b[1] - a[1];
  const sides: [number, number][] = [
    [-dx, a[0] - r.x],
    [dx, r.x + r.width - a[0]],
    [-dy, a[1] - r.y],
    [dy, r.y + r.height - a[1]],
  ];
  for (const [p, q] of sides) {
    if (p === 0) {
      if (q < 0) return null;
    } else if (p < 0) {
      t0 = Math.max(t0, q / p);
    } else {
      t1 = Math.min(t1, q / p);
    }
  }
  if (t0 > t1) return null;
  return [
    [a[0] + t0 * dx, a[1] + t0 * dy],
    [a[0] + t1 * dx, a[1] + t1 * dy],
  ];
}

const FONT = 12;

/** Compute roofs that lie close together take turns to the left, so that no text covers another. */
function computeLabel(line: RoofLine, a: Pixel, b: Pixel, taken: Rect[]): { x: number; y: number } {
  const width = line.label.length * FONT * 0.56;
  let x = b[0] - 6;
  const y = b[1] - 4;
  const hits = (left: number) =>
    taken.some(
      (t) => left - width < t.x + t.width && left > t.x && y - FONT < t.y + t.height && y > t.y,
    );
  while (hits(x) && x - 2 * width > a[0]) x -= width + 14;
  taken.push({ x: x - width, y: y - FONT, width, height: FONT });
  return { x, y };
}

interface Roof {
  line: RoofLine;
  a: Pixel;
  b: Pixel;
}

function lineShape({ line, a, b }: Roof, theme: Theme): unknown {
  const guide = line.kind === 'guide';
  return {
    type: 'line',
    shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] },
    style: {
      fill: 'none',
      stroke: guide ? theme.muted : theme.roof,
      lineWidth: guide ? 1 : 1.8,
      lineDash: guide ? [3, 4] : undefined,
      opacity: guide ? 0.7 : 1,
    },
  };
}

function labelShape({ line, a, b }: Roof, theme: Theme, taken: Rect[]): unknown[] {
  if (!line.label) return [];
  const guide = line.kind === 'guide';
  const style = {
    text: line.label,
    fill: guide ? theme.muted : theme.text,
    font: `${FONT}px system-ui, sans-serif`,
    stroke: theme.background,
    lineWidth: 3,
    verticalAlign: 'bottom',
  };
  if (line.kind === 'compute' || (guide && a[1] === b[1])) {
    const at = computeLabel(line, a, b, taken);
    return [{ type: 'text', x: at.x, y: at.y, style: { ...style, align: 'right' } }];
  }
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  if (length < line.label.length * FONT * 0.6) return [];
  const ux = (b[0] - a[0]) / length;
  const uy = (b[1] - a[1]) / length;
  return [
    {
      type: 'text',
      x: a[0] + 10 * ux + 5 * uy, // along the line, and a little off it
      y: a[1] + 10 * uy - 5 * ux,
      rotation: -Math.atan2(uy, ux),
      style: { ...style, align: 'left' },
    },
  ];
}

export function roofSeries(lines: RoofLine[], theme: Theme): Option[] {
  const series = (name: string, z: number, shapes: (roofs: Roof[]) => unknown[]): Option => ({
    type: 'custom',
    name,
    silent: true,
    z,
    data: lines.length > 0 ? [[...lines[0]!.from]] : [],
    renderItem: (params: { coordSys: Rect }, api: { coord: (p: [number, number]) => Pixel }) => {
      const roofs = lines.flatMap((line): Roof[] => {
        const visible = clip(api.coord(line.from), api.coord(line.to), params.coordSys);
        return visible ? [{ line, a: visible[0], b: visible[1] }] : [];
      });
      // Lines and labels of another view must not be reused: ECharts loses some of them.
      return { type: 'group', children: shapes(roofs), $mergeChildren: false };
    },
  });
  return [
    series('roofs', 1, (roofs) => roofs.map((roof) => lineShape(roof, theme))),
    series('names of roofs', 6, (roofs) => {
      const taken: Rect[] = [];
      return roofs.flatMap((roof) => labelShape(roof, theme, taken));
    }),
  ];
}
