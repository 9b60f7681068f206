// SPDX-License-Identifier: Apache-2.0
//
// Curves on logarithmic axes with the ceilings that were read off them.

import { useMemo, useRef } from 'preact/hooks';
import { Chart, type Handle, type Option, pngOf, svgOf } from './chart';
import { Group, type Look } from './common';
import { csv, fileName, save, saveUrl } from './export';
import { binaryBytes } from './format';
import { frame, range } from './roofline_option';
import { type RoofLine, roofSeries } from './roofs';
import { theme, type Theme } from './theme';
import type { CurvesSection } from './types';
import { shown } from './values';

// The second round through the colours is hollow.
const SHAPES = ['circle', 'triangle', 'diamond', 'rect', 'emptyCircle', 'emptyTriangle', 'emptyDiamond', 'emptyRect'];

function option(plot: CurvesSection, colors: Theme, narrow: boolean): Option {
  const points = plot.curves.flatMap((c) => c.points);
  const x = range(points.map((p) => p[0]));
  const y = range([...points.map((p) => p[1]), ...plot.ceilings.map((c) => c.value)]);
  const made = frame([plot.x_title, plot.y_title], { x, y }, colors, narrow);
  const xText = (value: number) => (plot.binary_x ? binaryBytes(value) : shown(value, plot.x_unit));
  made.xAxis.axisLabel.formatter = xText;
  if (plot.binary_x) made.xAxis.logBase = 4; // 4 KiB, 16 KiB, 64 KiB
  made.yAxis.axisLabel.formatter = (value: number) => shown(value, plot.y_unit);
  made.grid.top = 46;
  made.grid.left = narrow ? 74 : 92;
  made.yAxis.nameGap = narrow ? 58 : 74;
  made.legend = { top: 4, left: narrow ? 8 : 78, type: 'scroll', textStyle: { color: colors.text }, data: plot.curves.map((c) => c.name) };
  made.tooltip.formatter = (item: { seriesName: string; value: [number, number] }) => {
    const box = document.createElement('div');
    box.className = 'tip';
    box.textContent = `${item.seriesName}: ${shown(item.value[1], plot.y_unit)} at ${xText(item.value[0])}`;
    return box;
  };
  const lines: RoofLine[] = plot.ceilings.map((c) => ({
    kind: 'compute', label: c.text, from: [x[0], c.value], to: [x[1], c.value],
  }));
  made.series = [
    ...roofSeries(lines, colors),
    ...plot.curves.map((curve, i) => ({
      type: 'line',
      name: curve.name,
      data: curve.points,
      z: 3,
      symbol: SHAPES[i % SHAPES.length],
      symbolSize: 7,
      lineStyle: { width: 1.6 },
      color: colors.line[i % colors.line.length],
    })),
  ];
  return made;
}

export function Curves({ section, look }: { section: CurvesSection; look: Look }) {
  const handle = useRef<Handle | null>(null);
  const colors = theme(look.dark);
  const made = useMemo(() => option(section, colors, look.narrow), [section, look.dark, look.narrow]);
  const rows = section.curves.flatMap((c) => c.points.map((p) => [c.name, ...p]));
  const name = fileName(section.title);
  return (
    <section class="figure">
      <h2>{section.title}</h2>
      <Chart option={made} height="min(64vh, 520px)" label={section.title} onReady={(c) => { handle.current = c; }} />
      <div class="controls no-print">
        <Group title="save">
          <button type="button" onClick={() => save(`${name}.csv`, csv(['curve', section.x_title, section.y_title], rows), 'text/csv')}>CSV</button>
          <button type="button" onClick={() => save(`${name}.svg`, svgOf(option(section, theme(false), false), 1000, 560), 'image/svg+xml')}>SVG</button>
          <button type="button" onClick={() => handle.current && saveUrl(`${name}.png`, pngOf(handle.current, colors.background))}>PNG</button>
        </Group>
      </div>
    </section>
  );
}
