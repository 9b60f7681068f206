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

export interface Operator {
  name: string;
  op: string;
  phase: string;
  count: number;
  shape: string;
  dtype: string;
  latency_ms: number;
  low_ms: number;
  high_ms: number;
  bound_ms: number;
  limiter: string;
  terms_ms: Record<string, number>;
  efficiency: Record<string, number>;
  join?: number;
  residual: number;
  flops: number;
  traffic_bytes: ByLevel;
  tile: string;
  waves: number;
  provenance: string;
  extrapolated: boolean;
}

export interface Part {
  name: string;
  latency_ms: number;
  share: number;
}

export interface Report {
  request: Record<string, unknown>;
  model: { name: string; parameters: number };
  gpu: string;
  predictor: string;
  roofs: string;
  latency: Record<string, number>;
  parts: Part[];
  bound: { total_ms: number };
  flops: number;
  limiters: Record<string, number>;
  memory: Record<string, number | boolean | undefined>;
  operators: Operator[];
  provenance: Provenance;
  warnings: string[];
}

export interface Curve {
  name: string;
  points: [number, number][];
}

export interface MachineCeiling {
  name: string;
  value: number;
  unit: string; // B/s, FLOP/s, OP/s
}

export interface Machine {
  title: string;
  subtitle: string;
  bandwidth: Curve[];
  rate: Curve[];
  levels: MachineCeiling[];
  peaks: MachineCeiling[];
  notes: string[];
}

export type PageData =
  | { kind: 'roofline'; view: 'hierarchical' | 'time'; roofline: Roofline }
  | { kind: 'predict'; report: Report; roofline: Roofline }
  | { kind: 'machine'; machine: Machine };
