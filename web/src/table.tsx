// SPDX-License-Identifier: Apache-2.0
//
// A table that sorts by any column and shows the first rows of a long list.

import type { ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';

export interface Column<T> {
  title: string;
  value: (row: T) => number | string | null; // what is sorted by
  show?: (row: T) => ComponentChild;
  hint?: (row: T) => string;
  head?: string; // what the column means
  left?: boolean;
  fill?: boolean; // takes the room that the others leave, and is cut with an ellipsis
}

interface Props<T> {
  columns: Column<T>[];
  rows: T[];
  id: string;
  first?: number; // rows that are shown before the reader asks for all
  start?: number; // column that the rows are sorted by at first, descending; none: as given
  picked?: (row: T) => boolean;
  onPick?: (row: T) => void;
}

const FIRST_ROWS = 100;

function compare(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en');
}

function cell<T>(column: Column<T>, row: T): ComponentChild {
  const shown = column.show ? column.show(row) : String(column.value(row) ?? '-');
  if (typeof shown !== 'string') return shown;
  // A number stays on one line with its unit.
  return column.fill ? breakable(shown) : shown.replace(/(\d) (?=\S)/g, '$1\u00a0');
}

function sideOf<T>(column: Column<T>): string {
  return `${column.left ? 'left' : ''}${column.fill ? ' fill' : ''}`;
}

/** A name that may break behind what joins its parts. */
function breakable(name: string): ComponentChild {
  const parts = name.split(/(?<=[\/._+:,<(])/);
  return parts.length < 2 ? name : parts.flatMap((part, i) => (i === 0 ? [part] : [<wbr />, part]));
}

export function Table<T>({ columns, rows, id, first = FIRST_ROWS, start, picked, onPick }: Props<T>) {
  const [sort, setSort] = useState<{ column: number; down: boolean } | null>(
    start === undefined ? null : { column: start, down: true },
  );
  const [all, setAll] = useState(false);
  const sorted = useMemo(() => {
    const column = sort ? columns[sort.column] : undefined;
    if (!sort || !column) return rows;
    const sign = sort.down ? -1 : 1;
    return [...rows].sort((a, b) => sign * compare(column.value(a), column.value(b)));
  }, [rows, sort, columns]);
  const shown = all ? sorted : sorted.slice(0, first);
  const choose = (column: number) =>
    setSort({ column, down: sort?.column === column ? !sort.down : !columns[column]?.left });
  return (
    <div class="table-box">
      <table id={id} class={columns.every((column) => column.title === '') ? 'plain' : ''}>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th
                class={sideOf(column)}
                title={column.head}
                aria-sort={sort?.column !== i ? 'none' : sort.down ? 'descending' : 'ascending'}
              >
                <button type="button" onClick={() => choose(i)}>
                  {column.title}
                  <span aria-hidden="true">{sort?.column !== i ? '' : sort.down ? ' ▼' : ' ▲'}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr class={picked?.(row) ? 'picked' : ''} onClick={() => onPick?.(row)}>
              {columns.map((column) => (
                <td class={sideOf(column)} title={column.hint?.(row)}>
                  {cell(column, row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < sorted.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          show all {sorted.length} rows
        </button>
      )}
    </div>
  );
}
