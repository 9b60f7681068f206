// SPDX-License-Identifier: Apache-2.0
//
// Words about kernels that chart, table and hover share, as report/roofline_words.h of the program:
// what operations are called, which numbers are lower bounds.

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

/** Which of the runs a kernel is of. */
export function runOf(roofline: Roofline, kernel: Kernel): number {
  return Math.max(0, roofline.phases.findIndex((p) => p.phase === kernel.phase));
}
