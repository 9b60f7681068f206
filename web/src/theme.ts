// SPDX-License-Identifier: Apache-2.0
//
// Colours that stay apart for colour-blind readers (Okabe and Ito), lighter on a dark page. Shape
// says the same as colour: triangle L1, diamond L2, circle DRAM.

export interface Theme {
  text: string;
  muted: string;
  grid: string;
  minor: string;
  background: string;
  roof: string;
  accent: string;
  level: Record<string, string>;
  line: string[];
  of: (light: string) => string; // a colour of a static picture as this theme has it
}

const LIGHT: Theme = {
  text: '#1c1e21',
  muted: '#5d636b',
  grid: '#dfe2e6',
  minor: '#f1f2f4',
  background: '#ffffff',
  roof: '#3b4046',
  accent: '#b0007a',
  level: { l1: '#56b4e9', l2: '#0072b2', dram: '#d55e00' },
  line: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#b8860b', '#6f6f6f', '#1c1e21'],
  of: (light) => light,
};

const DARK: Theme = {
  text: '#e8eaed',
  muted: '#a2a9b1',
  grid: '#343a41',
  minor: '#25292e',
  background: '#17191c',
  roof: '#c3c8ce',
  accent: '#ff7ccf',
  level: { l1: '#9bd7ff', l2: '#3d9be9', dram: '#ff8a3d' },
  line: ['#3d9be9', '#ff8a3d', '#2fc79a', '#eba6cd', '#9bd7ff', '#e6c14d', '#a2a9b1', '#e8eaed'],
  of: (light) => DARK.line[LIGHT.line.indexOf(light)] ?? light,
};

const TONES: Record<string, number> = {
  good: 0, l2: 0, bad: 1, dram: 1, compute: 2, latency: 3, l1: 4, launch: 5, shared: 6, host: 6,
};

/** Of a limiter, "good" or "bad". */
export function toneColor(tone: string, colors: Theme): string {
  return colors.line[TONES[tone] ?? 0]!;
}

export function theme(dark: boolean): Theme {
  return dark ? DARK : LIGHT;
}

/** Levels differ in shape and hue, runs in fill: solid, hollow, solid and tinted with a dark rim. */
export function runStyle(color: string, run: number, colors: Theme): Record<string, unknown> {
  switch (run % 4) {
    case 0:
      return { color, borderColor: colors.background, borderWidth: 0.8, opacity: 0.65 };
    case 1: // see-through: the same kernel of another run often lies below
      return { color: 'transparent', borderColor: color, borderWidth: 2, opacity: 1 };
    case 2:
      return { color, borderColor: colors.text, borderWidth: 1.6, opacity: 0.8 };
    default:
      return { color: `${color}33`, borderColor: colors.text, borderWidth: 1.6, opacity: 1 };
  }
}

export const SYMBOLS: Record<string, string> = {
  l1: 'triangle',
  l2: 'diamond',
  dram: 'circle',
};
