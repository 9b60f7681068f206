// SPDX-License-Identifier: Apache-2.0
//
// Any result: the verdict, its charts, then facts, tables and notes. One search and one choice for
// the whole page: what is clicked in a chart is marked in the tables, and the other way round.

import { useMemo, useState } from 'preact/hooks';
import { Bars } from './bars';
import { Facts, From, Header, type Look, type Selection, useLook, Warnings } from './common';
import { Curves } from './curves';
import { Explorer } from './explorer';
import { type Column, Table } from './table';
import type { ChartSection, DocumentColumn, FactsSection, Json, NoteSection, PageData, Roofline, TableSection } from './types';
import { cellText, matches, namesOf, rowsOf, sortValue, valueAt } from './values';

function Verdict({ page }: { page: PageData }) {
  if (page.verdict.length === 0) return null;
  return (
    <ul id="verdict">
      {page.verdict.map((v) => (
        <li class={v.tone}>{v.text}</li>
      ))}
    </ul>
  );
}

const HEADINGS: Record<string, string> = { gpu: 'GPUs', summary: 'Summary', balance: 'Balance', optimum: 'Optima' };

/** "variant" -> "Variants", "gpu" -> "GPUs". */
function heading(kind: string): string {
  return HEADINGS[kind] ?? `${kind[0]!.toUpperCase()}${kind.slice(1)}s`;
}

const NUMERIC = (column: DocumentColumn) => column.unit !== '' && column.unit !== 'phase';

function columnOf(column: DocumentColumn): Column<Json> {
  return {
    title: column.title,
    left: !NUMERIC(column),
    fill: column.rank === 'identity' && !NUMERIC(column),
    head: column.hint,
    value: (row) => sortValue(column, row),
    show: (row) => cellText(column, row),
    hint: (row) => (column.rank === 'identity' ? String(valueAt(row, 'name') ?? '') : ''),
  };
}

/** A row that was chosen, or one of the block that was. */
function isPicked(row: Json, picked: string | null): boolean {
  return picked !== null && namesOf(row).some((name) => name === picked || name.startsWith(`${picked}/`));
}

function DocumentTable({ page, section, selection }: { page: PageData; section: TableSection; selection: Selection }) {
  const [all, setAll] = useState(false);
  const extra = section.columns.some((c) => c.rank === 'extra');
  const columns = useMemo(
    () => section.columns.filter((c) => all || c.rank !== 'extra').map(columnOf),
    [section, all],
  );
  const rows = useMemo(() => {
    const list = [...rowsOf(page, section.rows), ...(section.more ?? [])];
    return list.filter((row) => !section.where || valueAt(row, section.where) !== null);
  }, [page, section]);
  const found = useMemo(() => rows.filter((row) => matches(row, selection.search)), [rows, selection.search]);
  if (rows.length === 0) return null;
  const start = section.columns.filter((c) => all || c.rank !== 'extra').findIndex((c) => c.fields[0]?.at === section.order);
  return (
    <section>
      <div class="table-head">
        <h2>{section.title || heading(section.kind)}</h2>
        {extra && (
          <button type="button" class="no-print" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? 'fewer columns' : 'all columns'}
          </button>
        )}
      </div>
      <Table
        id={`${section.kind}s`}
        columns={columns}
        rows={found}
        start={start >= 0 ? start : undefined}
        picked={(row) => isPicked(row, selection.picked)}
        onPick={(row) => {
          const names = namesOf(row);
          selection.pick(selection.picked !== null && names.includes(selection.picked) ? null : (names[0] ?? null));
        }}
      />
    </section>
  );
}

function FactsBlock({ section }: { section: FactsSection }) {
  return (
    <section>
      {section.title && <h2>{section.title}</h2>}
      <Facts rows={section.rows.map((row): [string, string] => [row.name, row.text])} />
    </section>
  );
}

function NoteBlock({ section }: { section: NoteSection }) {
  return (
    <section>
      {section.title && <h2>{section.title}</h2>}
      {section.list ? (
        <ul class="warnings">
          {section.lines.map((line) => (
            <li>{line}</li>
          ))}
        </ul>
      ) : (
        section.lines.map((line) => <p class={section.title ? 'formula' : 'muted'}>{line}</p>)
      )}
    </section>
  );
}

function Figure({ page, section, look, selection }: { page: PageData; section: ChartSection; look: Look; selection: Selection }) {
  switch (section.type) {
    case 'bars':
      return <Bars page={page} section={section} look={look} selection={selection} />;
    case 'curves':
      return <Curves section={section} look={look} />;
    case 'roofline': {
      const roofline = section.roofline ?? (page.data as unknown as Roofline);
      return <Explorer page={page} roofline={roofline} view={section.view} look={look} selection={selection} />;
    }
  }
}

const isChart = (type: string) => type === 'bars' || type === 'curves' || type === 'roofline';

export function DocumentPage({ page }: { page: PageData }) {
  const look = useLook();
  const [search, setSearch] = useState('');
  const [picked, pick] = useState<string | null>(null);
  const selection: Selection = { search, setSearch, picked, pick };
  const charts = page.sections.filter((s): s is ChartSection => isChart(s.type));
  const explored = charts.some((c) => c.type === 'roofline'); // has a search of its own
  const searchable = !explored && page.sections.some((s) => s.type === 'table');
  return (
    <>
      <Header title={page.title} subtitle={page.subtitle} look={look} />
      <Verdict page={page} />
      {searchable && (
        <div class="controls no-print">
          <input
            id="search" type="search" placeholder="search" value={search} aria-label="search rows"
            onInput={(e) => setSearch(e.currentTarget.value)}
          />
        </div>
      )}
      {charts.map((section) => (
        <Figure page={page} section={section} look={look} selection={selection} />
      ))}
      {page.sections.map((section) => {
        switch (section.type) {
          case 'facts':
            return <FactsBlock section={section} />;
          case 'table':
            return <DocumentTable page={page} section={section} selection={selection} />;
          case 'note':
            return <NoteBlock section={section} />;
          default:
            return null;
        }
      })}
      <Warnings list={page.warnings} title={page.warning_label === 'note' ? 'Notes' : 'Warnings'} />
      {page.provenance && <From provenance={page.provenance} />}
    </>
  );
}
