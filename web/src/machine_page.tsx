// SPDX-License-Identifier: Apache-2.0
//
// A measured machine: bandwidth against working set, FLOP/s against intensity, with the ceilings that
// were read off them.

import { useMemo, useRef } from 'preact/hooks';
import { Chart, type Handle, type Option, pngOf, svgOf } from './chart';
import { Group, Header, type Look, useLook, Warnings } from './common';
import { csv, fileName, save, saveUrl } from './export';
import { binaryBytes, digits, levelName, si } from './format';
import { frame, range } from './roofline_option';
import { type RoofLine, roofSeries } from './roofs';
import { Table } from './table';
import { theme, type Theme } from './theme';
import type { Curve, Machine, MachineCeiling, PageData } from './types';

// The second round through the colours is hollow.
const SHAPES = ['circle', 'triangle', 'diamond', 'rect', 'emptyCircle', 'emptyTriangle', 'emptyDiamond', 'emptyRect'];

interface Plot {
  curves: Curve[];
  ceilings: MachineCeiling[];
  x: string;
  y: string;
  unit: string;
  xText: (value: number) => string;
  binary: boolean;
}

function option(plot: Plot, colors: Theme, narrow: boolean): Option {
  const points = plot.curves.flatMap((c) => c.points);
  const x = range(points.map((p) => p[0]));
  const y = range([...points.map((p) => p[1]), ...plot.ceilings.map((c) => c.value)]);
  const made = frame([plot.x, plot.y], { x, y }, colors, narrow);
  made.xAxis.axisLabel.formatter = plot.xText;
  if (plot.binary) made.xAxis.logBase = 4; // 4 KiB, 16 KiB, 64 KiB
  made.yAxis.axisLabel.formatter = (value: number) => si(value, plot.unit);
  made.yAxis.nameGap = 72;
  made.grid.left = 98;
  made.grid.top = 46;
  made.legend = { top: 4, left: narrow ? 8 : 78, type: 'scroll', textStyle: { color: colors.text }, data: plot.curves.map((c) => c.name) };
  made.tooltip.formatter = (item: { seriesName: string; value: [number, number] }) => {
    const box = document.createElement('div');
    box.textContent = `${item.seriesName}: ${si(item.value[1], plot.unit)} at ${plot.xText(item.value[0])}`;
    return box;
  };
  const lines: RoofLine[] = plot.ceilings.map((c) => ({
    kind: 'compute', label: `${c.name} ${si(c.value, c.unit)}`, from: [x[0], c.value], to: [x[1], c.value],
  }));
  made.series = [
    roofSeries(lines, colors),
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

function Panel({ id, title, plot, look, name }: { id: string; title: string; plot: Plot; look: Look; name: string }) {
  const handle = useRef<Handle | null>(null);
  const colors = theme(look.dark);
  const made = useMemo(() => option(plot, colors, look.narrow), [plot, look.dark, look.narrow]);
  if (plot.curves.length === 0) return null;
  const rows = plot.curves.flatMap((c) => c.points.map((p) => [c.name, ...p]));
  return (
    <section id={id}>
      <h2>{title}</h2>
      <div class="controls no-print">
        <Group title="save">
          <button type="button" onClick={() => save(`${name}.csv`, csv(['curve', plot.x, plot.y], rows), 'text/csv')}>CSV</button>
          <button type="button" onClick={() => save(`${name}.svg`, svgOf(option(plot, theme(false), false), 1000, 560), 'image/svg+xml')}>SVG</button>
          <button type="button" onClick={() => handle.current && saveUrl(`${name}.png`, pngOf(handle.current, colors.background))}>PNG</button>
        </Group>
      </div>
      <Chart option={made} height="min(64vh, 520px)" label={title} onReady={(c) => { handle.current = c; }} />
    </section>
  );
}

export function MachinePage({ data }: { data: PageData & { kind: 'machine' } }) {
  const look = useLook();
  const machine: Machine = data.machine;
  const name = fileName(machine.title);
  const levels = machine.levels.map((l) => ({ ...l, name: levelName(l.name) }));
  const ceilings = [...levels, ...machine.peaks];
  const plots = useMemo((): [Plot, Plot] => [
    {
      curves: machine.bandwidth,
      ceilings: levels,
      x: 'working set', y: 'bandwidth', unit: 'B/s', xText: binaryBytes, binary: true,
    },
    {
      curves: machine.rate, ceilings: machine.peaks,
      x: 'arithmetic intensity, FLOP/byte', y: 'rate', unit: 'FLOP/s', xText: digits, binary: false,
    },
  ], [machine]);
  return (
    <>
      <Header title={machine.title} subtitle={machine.subtitle} look={look} />
      <Panel id="bandwidth" title="Bandwidth against working set" plot={plots[0]} look={look} name={`${name}-bandwidth`} />
      <Panel id="rate" title="FLOP/s against intensity" plot={plots[1]} look={look} name={`${name}-rate`} />
      {ceilings.length > 0 && <h2>Ceilings</h2>}
      {ceilings.length > 0 && <Table
        id="ceilings"
        rows={ceilings}
        columns={[
          { title: 'ceiling', left: true, value: (c) => c.name },
          { title: 'value', value: (c) => c.value, show: (c) => si(c.value, c.unit) },
        ]}
      />}
      <Warnings list={machine.notes} />
    </>
  );
}
