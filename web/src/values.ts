// SPDX-License-Identifier: Apache-2.0
//
// Values of the data by their place, and as text by their unit: what report/document.h says.

import { count, digits, percent, si, time } from './format';
import type { DocumentColumn, Field, Json, PageData, Rows } from './types';

/** The value at "a/b/0", or null. */
export function valueAt(value: Json, at: string): Json {
  let here: Json = value;
  for (const key of at.split('/')) {
    if (key === '') continue;
    if (here === null || typeof here !== 'object') return null;
    here = Array.isArray(here) ? (here[Number(key)] ?? null) : (here[key] ?? null);
  }
  return here;
}

export function fieldOf(row: Json, field: Field): Json {
  const value = valueAt(row, field.at);
  return typeof value === 'number' && field.per ? value / field.per : value;
}

export function numberAt(row: Json, at: string | undefined): number | null {
  const value = at ? valueAt(row, at) : null;
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function textAt(row: Json, at: string | undefined): string {
  const value = at ? valueAt(row, at) : null;
  return typeof value === 'string' ? value : '';
}

export function rowsOf(page: PageData, rows: Rows): Json[] {
  const list: Json[] = rows.first ? [valueAt(page.data, rows.first)] : [];
  const all = rows.at ? valueAt(page.data, rows.at) : (rows.own ?? []);
  return Array.isArray(all) ? [...list, ...all] : list;
}

const SHORT_PHASES: Record<string, string> = {
  forward: 'fwd', backward: 'bwd', accumulate: 'acc', optimizer: 'opt',
};

function quantity(value: number, unit: string): string {
  switch (unit) {
    case 'amount': return si(value, '').trim();
    case 'ms': return time(value);
    case 'signed_ms': return `${value > 0 ? '+' : ''}${time(value)}`;
    case 'bytes': return si(value, 'B');
    case 'flops': return si(value, 'FLOP');
    case 'bytes_per_s': return si(value, 'B/s');
    case 'flop_per_s': return si(value, 'FLOP/s');
    case 'fraction': return percent(value);
    case 'percent': return `${(value * 100).toFixed(0)} %`;
    case 'signed_fraction': return `${value > 0 ? '+' : ''}${(value * 100).toFixed(1)} %`;
    case 'factor': return `${value.toFixed(2)}x`;
    case 'decimals': return value.toFixed(2);
    case 'count': return count(value);
    default: return digits(value);
  }
}

export function shown(value: Json, unit: string): string {
  if (value === null) return '-';
  if (typeof value === 'string') return unit === 'phase' ? (SHORT_PHASES[value] ?? value) : value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return quantity(value, unit);
  if (Array.isArray(value)) return value.map((v) => shown(v, unit)).join(', ');
  return Object.entries(value)
    .map(([key, v]) => [key, shown(v, unit)])
    .filter(([, text]) => text !== '0 %')
    .map(([key, text]) => `${key} ${text}`)
    .join(', ');
}

export function cellText(column: DocumentColumn, row: Json): string {
  const values = column.fields.map((f) => fieldOf(row, f));
  let text: string;
  if (values.length === 1) {
    text = shown(values[0]!, column.unit);
  } else {
    const same = values.every((v) => v === values[0]);
    if (values.every((v) => v === null) || (same && column.join === ' - ')) text = '-';
    else if (same && typeof values[0] === 'string') text = values[0];
    else text = values.map((v) => shown(v, column.unit)).join(column.join ?? '/');
  }
  if (text === '-') return text;
  if (column.lower_bound && valueAt(row, column.lower_bound) === false) text = `\u2265${text}`;
  if (column.starred && valueAt(row, column.starred) !== null) text += '*';
  return text;
}

/** What a column is sorted by. */
export function sortValue(column: DocumentColumn, row: Json): number | string | null {
  const value = column.fields[0] ? fieldOf(row, column.fields[0]) : null;
  if (typeof value === 'number' || typeof value === 'string' || value === null) return value;
  return String(value);
}

/** Names under which charts and tables know a row: a click in one finds it in the other. */
export function namesOf(row: Json): string[] {
  if (row === null || typeof row !== 'object' || Array.isArray(row)) return [];
  const names = ['name', 'short_name', 'label', 'id', 'resource', 'group', 'case']
    .map((key) => row[key])
    .filter((v): v is string => typeof v === 'string');
  if (Array.isArray(row.members)) names.push(...row.members.filter((v): v is string => typeof v === 'string'));
  const gpu = valueAt(row, 'request/gpu');
  if (typeof gpu === 'string') names.push(gpu);
  // An operator, as the chart of a prediction names it.
  if (row.op && row.shape !== undefined && row.phase) names.unshift(`${row.name} (${row.op} ${row.shape}, ${row.phase})`);
  return names;
}

export function matches(row: Json, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = namesOf(row).join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}
