// SPDX-License-Identifier: Apache-2.0
//
// Entry: reads the data that rooftile put into the page and shows the page for its kind.

import { render } from 'preact';
import { Facts, From, Header, useLook, Warnings } from './common';
import { Explorer } from './explorer';
import { count, si, time } from './format';
import { MachinePage } from './machine_page';
import { PredictPage } from './predict_page';
import { Table } from './table';
import { intensities } from './tooltip';
import { type Difference, type PageData, type Roofline } from './types';
import { atLeast, operationsOf, zeroAi } from './words';

function Formulas({ roofline }: { roofline: Roofline }) {
  if (roofline.formulas.length === 0) return null;
  return (
    <section>
      <h2>Formulas</h2>
      <dl class="formulas">
        {roofline.formulas.map((f) => (
          <>
            <dt>
              {f.quantity} <span class="muted">({count(f.kernels)} kernels)</span>
            </dt>
            <dd>
              <code>{f.formula}</code>
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

// The kernels follow; the rest is a click away.
const DIFFERENCES_FIRST = 15;

function Comparison({ roofline }: { roofline: Roofline }) {
  const c = roofline.comparison;
  if (!c) return null;
  const rows = [...c.classes.map((d) => ({ ...d, short_name: `all ${d.name}` })), ...c.kernels];
  return (
    <section>
      <h2>
        Difference: {c.second} minus {c.first}
      </h2>
      <Table<Difference>
        id="comparison"
        first={DIFFERENCES_FIRST}
        rows={rows}
        columns={[
          { title: 'kernel', left: true, fill: true, value: (d) => d.short_name, hint: (d) => d.name },
          { title: c.first, value: (d) => d.first?.time_ms ?? null, show: (d) => time(d.first?.time_ms) },
          { title: c.second, value: (d) => d.second?.time_ms ?? null, show: (d) => time(d.second?.time_ms) },
          { title: 'difference', value: (d) => d.delta_ms, show: (d) => `${d.delta_ms > 0 ? '+' : ''}${time(d.delta_ms)}` },
        ]}
      />
    </section>
  );
}

function RooflinePage({ data }: { data: PageData & { kind: 'roofline' } }) {
  const look = useLook();
  const r = data.roofline;
  const machine = r.ceilings.machine;
  const bound = atLeast(r.total.flops_complete);
  const operations = operationsOf(r.kernels);
  const facts: [string, string][] = [
    ['kernels', `${count(r.total.kernels)}, ${count(r.total.launches)} launches`],
    ['time', time(r.total.time_ms)],
    ['work', r.total.flops === null ? '-' : bound + si(r.total.flops, operations)],
    ['rate', r.total.gflops === null ? '-' : bound + si(r.total.gflops * 1e9, `${operations}/s`)],
    ['intensity', intensities(r.total.intensity, r.total.flops_complete)],
    ['zero-AI', zeroAi(r)],
  ];
  const roofs = machine || r.ceilings.source ? `roofs: ${machine ?? 'machine'} (${r.ceilings.source})` : 'no roofs';
  return (
    <>
      <Header title={r.title} subtitle={roofs} look={look} />
      <Facts rows={facts} />
      <Explorer data={data} roofline={r} view={data.view} look={look}>
        <Comparison roofline={r} />
      </Explorer>
      <Warnings list={r.warnings} />
      <Formulas roofline={r} />
      <From provenance={r.provenance} />
    </>
  );
}

function start(): void {
  const holder = document.getElementById('rooftile-data');
  const page = document.getElementById('page');
  if (!holder || !page) return;
  const data = JSON.parse(holder.textContent ?? 'null') as PageData;
  switch (data.kind) {
    case 'roofline':
      return render(<RooflinePage data={data} />, page);
    case 'predict':
      return render(<PredictPage data={data} />, page);
    case 'machine':
      return render(<MachinePage data={data} />, page);
  }
}

start();
