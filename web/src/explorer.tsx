// SPDX-License-Identifier: Apache-2.0
//
// Kernels under roofs: filters, the chart in one of its two views, the table below, downloads. Used
// for measured and for predicted kernels.

import { useMemo, useRef, useState } from 'preact/hooks';
import { Chart, type Handle, pngOf, resetZoom, svgOf } from './chart';
import { Group, type Look, type Selection, Toggle } from './common';
import { fileName, kernelsCsv, save, saveUrl } from './export';
import { levelName, time } from './format';
import { hierarchicalOption, type Shown, timeObstacle, timeOption } from './roofline_option';
import { theme } from './theme';
import { kernelRows } from './tooltip';
import { type Kernel, LEVELS, type Level, type PageData, type Roofline } from './types';
import { aboveRoofNotes, anyLowerBound, operationsOf } from './words';

export interface Filter {
  share: number; // percent of the time that the shown kernels make up, longest first
  search: string;
  phase: string; // '' is all
  precisions: string[];
}

type OwnFilter = Omit<Filter, 'search'>;

/** Precisions that some kernel uses; all of them when no kernel says. */
export function usedPrecisions(roofline: Roofline): string[] {
  const all = Object.keys(roofline.ceilings.compute);
  const used = all.filter((p) =>
    roofline.kernels.some((k) => (k.flops_by[p] ?? 0) > 0 || k.predicted?.rate === p));
  return used.length > 0 ? used : all;
}

/** Indices of the kernels that pass, longest first. */
export function filtered(roofline: Roofline, filter: Filter): number[] {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const precisions = new Set(filter.precisions);
  const roofs = roofline.ceilings.compute;
  const result: number[] = [];
  let before = 0;
  roofline.kernels.forEach((kernel, i) => {
    const start = before;
    before += kernel.time_fraction;
    if (filter.share < 100 && start * 100 >= filter.share) return;
    if (filter.phase && kernel.phase !== filter.phase) return;
    const roof = kernel.compute_roof;
    if (roof && roof in roofs && !precisions.has(roof)) return;
    const name = `${kernel.name} ${kernel.short_name}`.toLowerCase();
    if (words.every((word) => name.includes(word))) result.push(i);
  });
  return result;
}

function Details({ kernel, roofline, onClose }: { kernel: Kernel; roofline: Roofline; onClose: () => void }) {
  return (
    <aside id="details" aria-live="polite">
      <button type="button" class="no-print" onClick={onClose} aria-label="close">
        close
      </button>
      <code>{kernel.name}</code>
      <dl class="facts">
        {kernelRows(kernel, roofline).map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}

interface Props {
  page: PageData;
  roofline: Roofline;
  view: 'hierarchical' | 'time';
  look: Look;
  selection: Selection;
}

export function Explorer({ page, roofline, view: startView, look, selection }: Props) {
  const measuredLevels = LEVELS.filter((l) => roofline.kernels.some((k) => k.intensity[l]));
  const [levels, setLevels] = useState<Level[]>(measuredLevels.length > 0 ? measuredLevels : [...LEVELS]);
  const [view, setView] = useState(startView);
  const [timeLevel, setTimeLevel] = useState<Level>('dram');
  const [own, setFilter] = useState<OwnFilter>(() => ({
    share: 100, phase: '', precisions: usedPrecisions(roofline),
  }));
  const filter = useMemo((): Filter => ({ ...own, search: selection.search }), [own, selection.search]);
  const chosen = selection.picked === null
    ? -1
    : roofline.kernels.findIndex((k) => k.name === selection.picked || k.short_name === selection.picked);
  const picked = chosen < 0 ? null : chosen;
  const setPicked = (index: number | null) => selection.pick(index === null ? null : (roofline.kernels[index]?.name ?? null));
  const handle = useRef<Handle | null>(null);
  const kernels = useMemo(() => filtered(roofline, filter), [roofline, filter]);
  const colors = theme(look.dark);
  const shown: Shown = {
    roofline, kernels, levels, picked, narrow: look.narrow, theme: colors, precisions: filter.precisions,
  };
  const build = (s: Shown) => (view === 'time' ? timeOption(s, timeLevel) : hierarchicalOption(s));
  const option = useMemo(() => build(shown), [
    kernels, levels, view, timeLevel, filter.precisions, picked, look.dark, look.narrow,
  ]);
  const rows = useMemo(() => kernels.map((index) => roofline.kernels[index]!), [kernels]);
  const unplaced = kernels.filter((i) => !roofline.kernels[i]!.gflops).length;
  const obstacle = view === 'time' ? timeObstacle(roofline, timeLevel) : null;
  const none = view === 'hierarchical' && unplaced === kernels.length;
  const change = (part: Partial<OwnFilter>) => setFilter({ ...own, ...part });
  const flip = <V,>(list: V[], value: V, order: readonly V[]) =>
    order.filter((v) => (v === value ? !list.includes(v) : list.includes(v)));
  const name = fileName(roofline.title);
  const precisions = Object.keys(roofline.ceilings.compute);
  return (
    <div class="explorer">
      <div class="controls no-print">
        <Group title="chart">
          <Toggle on={view === 'hierarchical'} text="roofline" onClick={() => setView('hierarchical')} />
          <Toggle
            on={view === 'time'}
            text="time-based"
            hint="time the bytes need against time the FLOPs need"
            onClick={() => setView('time')}
          />
        </Group>
        <Group title="levels">
          {LEVELS.map((l) => (
            <Toggle
              on={view === 'time' ? timeLevel === l : levels.includes(l)}
              text={levelName(l)}
              mark={l}
              onClick={() => (view === 'time' ? setTimeLevel(l) : setLevels(flip(levels, l, LEVELS)))}
            />
          ))}
        </Group>
        {precisions.length > 0 && (
          <Group title="precisions">
            {precisions.map((p) => (
              <Toggle
                on={filter.precisions.includes(p)}
                text={p}
                hint={`${roofline.kernels.filter((k) => k.compute_roof === p).length} kernels; ${roofline.ceilings.compute[p]?.source ?? ''}`}
                onClick={() => change({ precisions: flip(filter.precisions, p, precisions) })}
              />
            ))}
          </Group>
        )}
        {roofline.phases.length > 1 && (
          <Group title="phase">
            <select onChange={(e) => change({ phase: e.currentTarget.value })}>
              <option value="">all</option>
              {roofline.phases.map((p) => (
                <option value={p.phase}>{p.phase}</option>
              ))}
            </select>
          </Group>
        )}
        <Group title="time share">
          <input
            id="share" type="range" min="1" max="100" value={filter.share}
            aria-label="percent of the time that the shown kernels make up"
            onInput={(e) => change({ share: Number(e.currentTarget.value) })}
          />
          <output>{filter.share === 100 ? 'all' : `top ${filter.share} %`}</output>
        </Group>
        <Group title="search">
          <input
            id="search" type="search" placeholder="kernel name" value={filter.search}
            aria-label="search kernels"
            onInput={(e) => selection.setSearch(e.currentTarget.value)}
          />
        </Group>
        <Group title="save">
          <button type="button" onClick={() => save(`${name}.csv`, kernelsCsv(rows), 'text/csv')}>CSV</button>
          <button type="button" onClick={() => save(`${name}.json`, JSON.stringify(page.data, null, 2), 'application/json')}>JSON</button>
          <button type="button" onClick={() => save(`${name}.svg`, svgOf(build({ ...shown, theme: theme(false), narrow: false }), 1000, 640), 'image/svg+xml')}>SVG</button>
          <button type="button" onClick={() => handle.current && saveUrl(`${name}.png`, pngOf(handle.current, colors.background))}>PNG</button>
          <button type="button" onClick={() => resetZoom(handle.current)}>reset zoom</button>
        </Group>
      </div>
      <p class="muted" id="shown">
        {kernels.length} of {roofline.kernels.length} kernels
        {view === 'hierarchical' && unplaced > 0 &&
          `, ${unplaced} of them without FLOPs or a time and so not in the chart`}
        {'. '}
        <span class="no-print">Scroll to zoom, drag to move, click for details.</span>
      </p>
      {obstacle || none ? (
        <p class="empty">
          No chart: {obstacle ?? 'no kernel that is shown has FLOPs and a time'}. The table has what is known.
        </p>
      ) : (
        <Chart
          option={option}
          height={look.narrow ? '420px' : 'min(62vh, 620px)'}
          label={`${view} chart of ${kernels.length} kernels`}
          onReady={(chart) => {
            handle.current = chart;
          }}
          onPick={setPicked}
        />
      )}
      {!obstacle && !none && <Legend view={view} roofline={roofline} levels={levels} />}
      {picked !== null && roofline.kernels[picked] && (
        <Details kernel={roofline.kernels[picked]!} roofline={roofline} onClose={() => setPicked(null)} />
      )}
    </div>
  );
}

/** The runs by their fill, and what an arrow means, where there are such markers. */
function RunLegend({ roofline }: { roofline: Roofline }) {
  return (
    <>
      {roofline.phases.length > 1 &&
        roofline.phases.map((p, i) => (
          <span>
            <span class={`run run-${i % 4}`} aria-hidden="true" /> {p.phase}
          </span>
        ))}
      {anyLowerBound(roofline) && <span>arrow: FLOPs incomplete, a lower bound</span>}
    </>
  );
}

function Legend({ view, roofline, levels }: { view: string; roofline: Roofline; levels: Level[] }) {
  if (view === 'time') {
    const name = `${operationsOf(roofline.kernels)}s`;
    return (
      <p class="legend">
        <span>
          Cross: time that bytes and {name} need at the roofs. Marker: where the measured time would
          have reached; the line between them is lost time. Above the balance the {name} need longer,
          below it the bytes. Kernels without {name} lie on the lower edge. Dashed: time of the
          launches, {time(roofline.ceilings.launch_overhead_us / 1e3)} each, of the kernel that is chosen, else
          of those with the fewest and the most; kernels inside their box are bound by launching.
        </span>
        <RunLegend roofline={roofline} />
      </p>
    );
  }
  return (
    <p class="legend">
      {levels.map((l) => (
        <span>
          <span class={`mark ${l}`} aria-hidden="true" /> {levelName(l)}
        </span>
      ))}
      <RunLegend roofline={roofline} />
      {aboveRoofNotes(roofline).map((note) => (
        <span>
          <span class="ring" aria-hidden="true" /> {note}
        </span>
      ))}
      <span>area: time{roofline.kernels.some((k) => k.predicted) ? '; dashed outline: predicted' : ''}</span>
    </p>
  );
}
