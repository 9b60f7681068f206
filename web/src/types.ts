// SPDX-License-Identifier: Apache-2.0
//
// The JSON that rooftile writes into the page: docs/format/roofline.md, docs/format/report.md and
// docs/format/page.md. The page draws, filters and sorts these numbers; it derives none.

export type Level = 'l1' | 'l2' | 'dram';
export const LEVELS: readonly Level[] = ['l1', 'l2', 'dram'];

export type ByLevel = Record<Level, number | null>;

export interface Predicted {
  match: string;
  shape: string;
  time_ms: number;
  low_ms: number;
  high_ms: number;
  bytes: ByLevel;
  flops: number;
  intensity: ByLevel;
  gflops: number;
  limiter: string;
  rate: string;
  above_roof: string | null;
}

export interface Kernel {
  name: string;
  short_name: string;
  phase: string;
  launches: number;
  time_ms: number | null;
  time_fraction: number;
  flops: number | null;
  flops_by: Record<string, number>;
  flops_complete: boolean;
  bytes: ByLevel;
  intensity: ByLevel;
  gflops: number | null;
  limiter: string | null;
  compute_roof: string | null;
  fraction_of_roof: number | null;
  above_roof: string | null; // why it is above its roof
  bound_ms: number | null;
  terms: Record<string, number | null>;
  launch_bound: boolean;
  predicted?: Predicted;
}

export interface Difference {
  name: string;
  short_name: string;
  delta_ms: number;
  first: { launches: number; time_ms: number | null } | null;
  second: { launches: number; time_ms: number | null } | null;
}

export interface Roofline {
  title: string;
  gflops_unit: string;
  ceilings: {
    machine: string | null;
    source: string;
    clock_mhz: number | null;
    launch_overhead_us: number;
    bandwidth: Record<string, { gbps: number; source: string }>;
    compute: Record<string, { gflops: number; source: string }>;
  };
  kernels: Kernel[];
  zero_ai: {
    kernels: number;
    launches: number;
    launch_fraction: number;
    time_fraction: number;
    uncounted_kernels: number;
  } | null; // no FLOPs were counted
  total: {
    kernels: number;
    launches: number;
    time_ms: number | null;
    flops: number | null;
    flops_complete: boolean;
    intensity: ByLevel;
    gflops: number | null;
  };
  phases: { phase: string; files: string[] }[];
  comparison?: {
    first: string;
    second: string;
    classes: Difference[];
    kernels: Difference[];
  };
  formulas: { quantity: string; formula: string; kernels: number }[];
  provenance: Provenance;
  warnings: string[];
}

export interface Provenance {
  version: string;
  commit: string | null;
  inputs: { kind: string; name: string; origin: string; sha256: string | null }[];
}

// A document as rooftile describes it (docs/format/page.md): `data` is the JSON report, tables and
// charts say where in it their values are.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Field {
  at: string; // "traffic_bytes/l1"
  per?: number;
}

export interface DocumentColumn {
  title: string;
  unit: string;
  rank: 'identity' | 'essential' | 'useful' | 'detail' | 'extra';
  fields: Field[];
  hint?: string;
  join?: string;
  lower_bound?: string;
  starred?: string;
  bar?: boolean;
}

export interface Rows {
  at?: string;
  first?: string;
  own?: Json[];
}

export interface TableSection {
  type: 'table';
  kind: string;
  title: string;
  rows: Rows;
  columns: DocumentColumn[];
  more?: Json[];
  order?: string;
  where?: string;
}

export interface FactsSection {
  type: 'facts';
  title: string;
  rows: { name: string; text: string }[];
}

export interface NoteSection {
  type: 'note';
  title: string;
  lines: string[];
  list: boolean;
}

export interface BarSeries {
  name: string;
  at: string;
  low?: string;
  high?: string;
  color?: string;
}

export interface BarsSection {
  type: 'bars';
  title: string;
  axis: string;
  unit: string;
  rows: Rows;
  label: string;
  series: BarSeries[];
  mark?: string;
  mark_name?: string;
  remark?: string;
  remark_name?: string;
  tone?: string;
  lines: { value: number; text: string }[];
  note: string;
}

export interface Curve {
  name: string;
  points: [number, number][];
}

export interface CurvesSection {
  type: 'curves';
  title: string;
  x_title: string;
  y_title: string;
  x_unit: string;
  y_unit: string;
  curves: Curve[];
  ceilings: { name: string; text: string; value: number }[];
  binary_x: boolean;
}

export interface RooflineSection {
  type: 'roofline';
  view: 'hierarchical' | 'time';
  roofline?: Roofline; // absent: the document's data
}

export type ChartSection = BarsSection | CurvesSection | RooflineSection;
export type Section = TableSection | FactsSection | NoteSection | ChartSection;

export interface PageData {
  title: string;
  subtitle: string;
  verdict: { text: string; tone: 'neutral' | 'good' | 'bad' }[];
  sections: Section[];
  warnings: string[];
  warning_label: string;
  provenance?: Provenance;
  data: Json;
}
