// SPDX-License-Identifier: Apache-2.0
//
// Words about kernels that chart, table and hover share, as report/roofline_words.h of the program:
// what operations are called, which numbers are lower bounds.

import { count, percent } from './format';
import type { Kernel, Roofline } from './types';

const isInteger = (precision: string) => /^(int|bool)/.test(precision);

export function operationName(precision: string): string {
  return isInteger(precision) ? 'OP' : 'FLOP';
}

/** FLOP; OP where integer operations are counted too: every FLOP is an operation. */
export function operationsOf(kernels: Kernel[]): string {
  const integer = kernels.some((k) =>
    Object.entries(k.flops_by).some(([precision, count]) => isInteger(precision) && count > 0));
  return integer ? 'OP' : 'FLOP';
}

export function rateUnit(roofline: Roofline): string {
  return `${roofline.gflops_unit.startsWith('2') ? 'Gi' : 'G'}${operationsOf(roofline.kernels)}/s`;
}

/** Before what is computed from incomplete FLOP counters. */
export function atLeast(complete: boolean): string {
  return complete ? '' : '\u2265';
}

export const AT_LEAST_NOTE =
  '\u2265: FLOP counters are missing, so FLOPs, intensity, rate and share of the roof are lower bounds';

export function anyLowerBound(roofline: Roofline): boolean {
  return roofline.kernels.some((k) => !k.flops_complete);
}

/** How much of the time has no FLOPs, as far as FLOPs were counted. */
export function zeroAi(roofline: Roofline): string {
  const census = roofline.zero_ai;
  if (!census) return 'unknown, FLOPs were not counted';
  const rest = census.uncounted_kernels > 0 ? `; FLOPs of ${count(census.uncounted_kernels)} more kernels unknown` : '';
  return `${count(census.launches)} launches, ${percent(census.time_fraction)} of time${rest}`;
}

/** Why kernels and predictions lie above a roof, one reason each. */
export function aboveRoofNotes(roofline: Roofline): string[] {
  const counts = new Map<string, [string, string, number]>();
  const add = (what: string, why: string | null | undefined) => {
    if (why) counts.set(what + why, [what, why, (counts.get(what + why)?.[2] ?? 0) + 1]);
  };
  for (const k of roofline.kernels) {
    add('kernel', k.above_roof);
    add('prediction', k.predicted?.above_roof);
  }
  return [...counts.values()].map(([what, why, n]) => `${n} ${what}${n === 1 ? '' : 's'} above the roof: ${why}`);
}

/** Which of the runs a kernel is of. */
export function runOf(roofline: Roofline, kernel: Kernel): number {
  return Math.max(0, roofline.phases.findIndex((p) => p.phase === kernel.phase));
}
