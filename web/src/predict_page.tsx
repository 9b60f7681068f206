// SPDX-License-Identifier: Apache-2.0
//
// A predicted step: totals, phases, limiters, memory, operators, and its kernels under the roofs.

import { Facts, From, Header, useLook, Warnings } from './common';
import { Explorer } from './explorer';
import { count, LEVEL_NAMES, percent, si, time } from './format';
import { type Column, Table } from './table';
import type { Operator, PageData, Report } from './types';

const LIMITERS = ['compute', 'l1', 'l2', 'dram', 'launch', 'link', 'host', 'idle'];

function Shares({ title, parts }: { title: string; parts: { name: string; share: number; note: string }[] }) {
  const shown = parts.filter((p) => p.share > 0);
  if (shown.length === 0) return null;
  return (
    <div class="shares">
      <span class="muted">{title}</span>
      <div class="bar">
        {shown.map((p) => (
          <span class={`part ${p.name}`} style={{ flexGrow: String(p.share) }} title={`${p.name}: ${p.note}`}>
            {p.share > 0.09 ? `${LEVEL_NAMES[p.name] ?? p.name} ${p.note}` : ''}
          </span>
        ))}
      </div>
      <p class="legend">
        {shown.map((p) => (
          <span>
            <span class={`swatch ${p.name}`} /> {LEVEL_NAMES[p.name] ?? p.name} {p.note}
          </span>
        ))}
      </p>
    </div>
  );
}

// What the step is made of on a mean GPU; hidden communication is negative.
function partFacts(report: Report): [string, string][] {
  return report.parts
    .filter((part) => part.latency_ms !== 0)
    .map((part) => [part.name, `${time(part.latency_ms)} (${percent(part.share)})`]);
}

function memoryFacts(report: Report): [string, string][] {
  const bytes = (key: string) => report.memory[key] as number | undefined;
  const rows: [string, string][] = [];
  for (const part of ['weights', 'gradients', 'optimizer', 'activations', 'kv_cache']) {
    const value = bytes(`${part}_bytes`);
    if (value) rows.push([part.replace('_', ' '), si(value, 'B')]);
  }
  const capacity = bytes('capacity_bytes');
  const fits = report.memory.fits;
  rows.push([
    'total',
    si(bytes('total_bytes') ?? 0, 'B') +
      (capacity ? ` of ${si(capacity, 'B')}: ${fits ? 'fits' : 'does not fit'}` : ''),
  ]);
  return rows;
}

const OPERATOR_COLUMNS: Column<Operator & { share: number }>[] = [
  { title: 'operator', left: true, value: (o) => o.name, hint: (o) => `${o.op} ${o.shape} ${o.dtype}` },
  { title: 'op', left: true, value: (o) => o.op },
  { title: 'phase', left: true, value: (o) => o.phase },
  { title: 'shape', left: true, value: (o) => o.shape },
  { title: 'launches', value: (o) => o.count, show: (o) => count(o.count) },
  {
    title: 'time', value: (o) => o.latency_ms, show: (o) => time(o.latency_ms),
    hint: (o) => `${time(o.low_ms)} to ${time(o.high_ms)}`,
  },
  { title: 'share', value: (o) => o.share, show: (o) => percent(o.share) },
  { title: 'bound', value: (o) => o.bound_ms, show: (o) => time(o.bound_ms) },
  { title: 'limiter', left: true, value: (o) => LEVEL_NAMES[o.limiter] ?? o.limiter },
  { title: 'DRAM', value: (o) => o.traffic_bytes.dram, show: (o) => si(o.traffic_bytes.dram ?? 0, 'B') },
  { title: 'tile', left: true, value: (o) => o.tile },
  {
    title: 'from', left: true, value: (o) => o.provenance + (o.extrapolated ? ', extrapolated' : ''),
  },
];

export function PredictPage({ data }: { data: PageData & { kind: 'predict' } }) {
  const look = useLook();
  const { report, roofline } = data;
  const l = report.latency;
  const total = l.total_ms ?? 0;
  const facts: [string, string][] = [
    ['step', time(total)],
    // A bound or a baseline states none: both ends are the time.
    ['interval', (l.low_ms ?? 0) < (l.high_ms ?? 0) ? `${time(l.low_ms)} to ${time(l.high_ms)}` : 'none'],
    ['bound', time(report.bound.total_ms)],
    ['work', si(report.flops, 'FLOP')],
    ['parameters', si(report.model.parameters, '')],
    ['predictor', report.predictor],
    ['roofs', report.roofs],
  ];
  const phases = ['forward', 'backward', 'optimizer', 'exposed_communication'].map((key) => {
    const ms = l[`${key}_ms`] ?? 0;
    return { name: key.replace('exposed_', ''), share: total > 0 ? ms / total : 0, note: time(ms) };
  });
  const limiters = LIMITERS.map((name) => ({
    name, share: report.limiters[name] ?? 0, note: percent(report.limiters[name] ?? 0),
  }));
  const operators = report.operators.map((o) => ({ ...o, share: total > 0 ? o.latency_ms / total : 0 }));
  const r = report.request;
  const setup = [r.phase, `batch ${r.batch}`, r.seq ? `${r.seq} tokens` : '', r.dtype, r.fusion === 'compile' ? 'fused' : '']
    .filter(Boolean)
    .join(', ');
  return (
    <>
      <Header title={`${report.model.name} on ${report.gpu}`} subtitle={`predicted: ${setup}`} look={look} />
      <Facts rows={facts} />
      <Shares title="time per phase" parts={phases} />
      <Shares title="time per limiter" parts={limiters} />
      {report.parts.some((part) => part.name !== 'kernels' && part.latency_ms !== 0) && (
        <>
          <h2>The step on a mean GPU</h2>
          <Facts rows={[...partFacts(report), ['step', time(total)]]} />
        </>
      )}
      <h2>Memory</h2>
      <Facts rows={memoryFacts(report)} />
      <h2>Predicted kernels under the roofs</h2>
      <Explorer data={data} roofline={roofline} view="hierarchical" look={look} />
      <h2>Operators</h2>
      <Table id="operators" columns={OPERATOR_COLUMNS} rows={operators} start={5} />
      <Warnings list={report.warnings} />
      <From provenance={report.provenance} />
    </>
  );
}
