// SPDX-License-Identifier: Apache-2.0
//
// Horizontal bars with whiskers, ticks and reference lines, one row per label.

import { useMemo, useRef } from 'preact/hooks';
import { Chart, type Handle, type Option, pngOf, svgOf } from './chart';
import { Group, type Look, type Selection } from './common';
import { fileName, save, saveUrl } from './export';
import { theme, type Theme, toneColor } from './theme';
import type { BarsSection, Json, PageData } from './types';
import { matches, namesOf, numberAt, rowsOf, shown, textAt } from './values';

interface Api {
  value: (i: number) => number;
  coord: (p: [number, number]) => [number, number];
}

function barShapes(section: BarsSection, row: Json, index: number, api: Api, step: number, colors: Theme, dim: boolean): unknown[] {
  const shapes: unknown[] = [];
  const thick = Math.min(16, (step * 0.72) / section.series.length);
  const tone = textAt(row, section.tone);
  const [zero, middle] = api.coord([0, index]);
  const opacity = dim ? 0.25 : 1;
  const line = (x1: number, y1: number, x2: number, y2: number, width: number) => ({
    type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: colors.text, lineWidth: width, opacity }, z2: 4,
  });
  section.series.forEach((series, s) => {
    const value = numberAt(row, series.at);
    if (value === null) return;
    const y = middle - (thick * section.series.length) / 2 + s * thick;
    const x = api.coord([value, index])[0];
    const color = series.color ? colors.of(series.color) : toneColor(tone, colors);
    shapes.push({
      type: 'rect', shape: { x: zero, y: y + 1, width: x - zero, height: thick - 2 }, style: { fill: color, opacity },
    });
    const low = numberAt(row, series.low);
    const high = numberAt(row, series.high);
    if (low !== null && high !== null) {
      const [a, b, m] = [api.coord([low, index])[0], api.coord([high, index])[0], y + thick / 2];
      shapes.push(line(a, m, b, m, 1.4), line(a, m - 4, a, m + 4, 1.4), line(b, m - 4, b, m + 4, 1.4));
    }
  });
  const mark = numberAt(row, section.mark);
  if (mark !== null) {
    const x = api.coord([mark, index])[0];
    const half = (thick * section.series.length) / 2 + 2;
    shapes.push(line(x, middle - half, x, middle + half, 2.2));
  }
  return shapes;
}

function tip(section: BarsSection, row: Json): HTMLElement {
  const box = document.createElement('div');
  box.className = 'tip';
  const title = document.createElement('strong');
  title.textContent = textAt(row, section.label);
  const list = document.createElement('dl');
  const add = (name: string, text: string) => {
    const dt = document.createElement('dt');
    dt.textContent = name;
    const dd = document.createElement('dd');
    dd.textContent = text;
    list.append(dt, dd);
  };
  for (const series of section.series) {
    const value = numberAt(row, series.at);
    const low = numberAt(row, series.low);
    const high = numberAt(row, series.high);
    if (value === null) continue;
    const interval = low !== null && high !== null ? ` (${shown(low, section.unit)} to ${shown(high, section.unit)})` : '';
    add(series.name, shown(value, section.unit) + interval);
  }
  const mark = numberAt(row, section.mark);
  if (mark !== null) add(section.mark_name ?? 'mark', shown(mark, section.unit));
  if (section.remark) add('', textAt(row, section.remark));
  box.append(title, list);
  return box;
}

const LINE = 13; // pixels of a line of a name

/** A name in lines of about `most` letters, broken behind what joins its parts: none is cut. */
export function lines(name: string, most: number): string {
  const parts = name.split(/(?<=[\/_ ,-])|(?<=\.)(?!\d)/).flatMap((part) => part.match(new RegExp(`.{1,${most}}`, 'g')) ?? []);
  const made: string[] = [];
  for (const part of parts) {
    const last = made[made.length - 1];
    if (last !== undefined && last.length + part.trimEnd().length <= most) made[made.length - 1] = last + part;
    else made.push(part);
  }
  return made.map((line) => line.trimEnd()).join('\n');
}

const labelsOf = (section: BarsSection, rows: Json[], narrow: boolean) =>
  rows.map((row) => lines(textAt(row, section.label), narrow ? 18 : 40));

function heightOf(section: BarsSection, rows: Json[], narrow: boolean): number {
  const most = Math.max(1, ...labelsOf(section, rows, narrow).map((label) => label.split('\n').length));
  return 90 + rows.length * Math.max(26, 14 * section.series.length + 8, LINE * most + 6);
}

function option(section: BarsSection, rows: Json[], colors: Theme, narrow: boolean, picked: string | null): Option {
  const values = rows.flatMap((row) => [
    ...section.series.flatMap((s) => [numberAt(row, s.at), numberAt(row, s.high)]),
    numberAt(row, section.mark),
  ]);
  const most = Math.max(0, ...values.map((v) => v ?? 0), ...section.lines.map((l) => l.value));
  const labels = labelsOf(section, rows, narrow);
  const remarks = rows.map((row) => textAt(row, section.remark));
  const width = (texts: string[], limit: number) =>
    Math.min(limit, 20 + 7 * Math.max(0, ...texts.flatMap((t) => t.split('\n').map((line) => line.length))));
  const chosen = (row: Json) => picked === null || namesOf(row).includes(picked);
  return {
    animation: false,
    backgroundColor: colors.background,
    textStyle: { fontFamily: 'system-ui, sans-serif' },
    grid: { left: width(labels, narrow ? 136 : 300), right: narrow ? 16 : width(remarks, 290), top: 26, bottom: 52 },
    xAxis: {
      type: 'value', min: 0, max: most * 1.02 || 1, name: section.axis, nameLocation: 'middle', nameGap: 30,
      nameTextStyle: { color: colors.text, fontSize: 13 },
      axisLabel: { color: colors.muted, formatter: (v: number) => (v === 0 ? '0' : shown(v, section.unit).replace(/\.0+(?=\D|$)/, '')), hideOverlap: true, showMaxLabel: false },
      splitLine: { lineStyle: { color: colors.grid } },
      splitNumber: narrow ? 3 : 6,
    },
    yAxis: {
      type: 'category', inverse: true, data: labels,
      axisLabel: { color: colors.text, fontSize: narrow ? 11 : 12, lineHeight: LINE, interval: 0 },
      axisTick: { show: false },
      axisLine: { lineStyle: { color: colors.muted } },
    },
    tooltip: {
      confine: true, backgroundColor: colors.background, borderColor: colors.grid,
      textStyle: { color: colors.text, fontSize: 13 },
      formatter: (item: { dataIndex: number }) => (rows[item.dataIndex] === undefined ? '' : tip(section, rows[item.dataIndex]!)),
    },
    series: [
      {
        type: 'custom',
        data: rows.map((row, i) => ({ value: [0, i], row: namesOf(row)[0] ?? null })),
        renderItem: (params: { dataIndex: number; coordSys: { x: number; width: number } }, api: Api & { size: (p: number[]) => number[] }) => {
          const i = params.dataIndex;
          const row = rows[i]!;
          const children = barShapes(section, row, i, api, api.size([0, 1])[1] ?? 20, colors, !chosen(row));
          if (!narrow && remarks[i]) {
            const tone = textAt(row, section.tone);
            children.push({
              type: 'text', x: params.coordSys.x + params.coordSys.width + 12, y: api.coord([0, i])[1],
              style: { text: remarks[i], fill: tone ? toneColor(tone, colors) : colors.muted, verticalAlign: 'middle', font: '12px system-ui, sans-serif' },
            });
          }
          return { type: 'group', children, $mergeChildren: false };
        },
        z: 3,
      },
      {
        type: 'custom', silent: true, z: 4, data: section.lines.map((l) => [l.value, 0]),
        renderItem: (params: { dataIndex: number; coordSys: { x: number; y: number; width: number; height: number } }, api: Api) => {
          const l = section.lines[params.dataIndex]!;
          const x = api.coord([l.value, 0])[0];
          const { y, height } = params.coordSys;
          const align = x + 4 * l.text.length > params.coordSys.x + params.coordSys.width + 16 ? 'right' : 'center';
          return {
            type: 'group',
            children: [
              { type: 'line', shape: { x1: x, y1: y, x2: x, y2: y + height }, style: { stroke: colors.roof, lineWidth: 1.8 } },
              { type: 'text', x, y: y - 6, style: { text: l.text, fill: colors.text, align, verticalAlign: 'bottom', font: '12px system-ui, sans-serif' } },
            ],
          };
        },
      },
    ],
  };
}

interface Props {
  page: PageData;
  section: BarsSection;
  look: Look;
  selection: Selection;
}

export function Bars({ page, section, look, selection }: Props) {
  const handle = useRef<Handle | null>(null);
  const colors = theme(look.dark);
  const all = useMemo(() => rowsOf(page, section.rows), [page, section]);
  const rows = useMemo(() => all.filter((row) => matches(row, selection.search)), [all, selection.search]);
  const made = useMemo(
    () => option(section, rows, colors, look.narrow, selection.picked),
    [section, rows, look.dark, look.narrow, selection.picked],
  );
  const name = fileName(section.title);
  return (
    <section class="figure">
      <h2>{section.title}</h2>
      {section.series.length > 1 && (
        <p class="legend">
          {section.series.map((s) => (
            <span>
              <span class="swatch" style={{ background: s.color ? colors.of(s.color) : undefined }} /> {s.name}
            </span>
          ))}
        </p>
      )}
      {rows.length === 0 ? (
        <p class="empty">No row matches the search.</p>
      ) : (
        <Chart
          key={`${rows.length}`}
          option={made}
          height={`${heightOf(section, rows, look.narrow)}px`}
          label={section.title}
          onReady={(chart) => {
            handle.current = chart;
          }}
          onPickName={selection.pick}
        />
      )}
      <p class="legend">
        {section.note && <span>{section.note}</span>}
        {section.remark_name && !look.narrow && <span>on the right: {section.remark_name}</span>}
        {section.mark_name && <span>tick: {section.mark_name}</span>}
        <Group title="save">
          <button type="button" class="no-print" onClick={() => save(`${name}.svg`, svgOf(option(section, rows, theme(false), false, null), 1000, heightOf(section, rows, false)), 'image/svg+xml')}>SVG</button>
          <button type="button" class="no-print" onClick={() => handle.current && saveUrl(`${name}.png`, pngOf(handle.current, colors.background))}>PNG</button>
        </Group>
      </p>
    </section>
  );
}
