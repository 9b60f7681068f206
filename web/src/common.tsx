// SPDX-License-Identifier: Apache-2.0
//
// What all pages share: header with the theme switch, notes, and the colours in force.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Provenance } from './types';

type Mode = 'auto' | 'light' | 'dark';

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setMatches(list.matches);
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, [query]);
  return matches;
}

export interface Look {
  dark: boolean;
  narrow: boolean;
  mode: Mode;
  next: () => void;
}

/** What the reader looks for and has chosen, the same in every chart and table of the page. */
export interface Selection {
  search: string;
  setSearch: (text: string) => void;
  picked: string | null; // a name of a row
  pick: (name: string | null) => void;
}

/** Dark as the reader's system says, or as chosen; paper is always light. */
export function useLook(): Look {
  const [mode, setMode] = useState<Mode>('auto');
  const system = useMedia('(prefers-color-scheme: dark)');
  const print = useMedia('print');
  const narrow = useMedia('(max-width: 640px)');
  const dark = !print && (mode === 'auto' ? system : mode === 'dark');
  // Before anything is drawn: a printer does not wait.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  }, [dark]);
  const next = () => setMode(dark ? 'light' : 'dark');
  return { dark, narrow, mode, next };
}

export function Header({ title, subtitle, look }: { title: string; subtitle: string; look: Look }) {
  return (
    <header>
      <div>
        <h1>{title}</h1>
        <p class="muted">{subtitle}</p>
      </div>
      <button type="button" id="theme" class="no-print" onClick={look.next}>
        {look.dark ? 'light' : 'dark'}
      </button>
    </header>
  );
}

export function Warnings({ list, title }: { list: string[]; title: string }) {
  if (list.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul class="warnings">
        {list.map((text) => {
          const colon = text.indexOf(': ');
          const named = colon > 0 && !text.slice(0, colon).includes(' ');
          return (
            <li>
              {named && <b>{text.slice(0, colon)}</b>} {named ? text.slice(colon + 2) : text}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The last line of the text reports. */
export function From({ provenance }: { provenance: Provenance }) {
  const program = `rooftile ${provenance.version} ${provenance.commit ?? ''}`.trim();
  const files = provenance.inputs.map((i) => `${i.kind} ${i.name} ${i.origin}${i.sha256 ? `:${i.sha256.slice(0, 12)}` : ''}`);
  return <p class="muted from">from: {[program, ...files].join(', ')}</p>;
}

export function Facts({ rows }: { rows: [string, string][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="group" role="group" aria-label={title}>
      <span class="muted">{title}</span>
      {children}
    </div>
  );
}

export function Toggle({ on, text, mark, hint, onClick }: {
  on: boolean;
  text: string;
  mark?: string;
  hint?: string;
  onClick: () => void;
}) {
  return (
    <button type="button" class="toggle" aria-pressed={on} title={hint} onClick={onClick}>
      {mark && <span class={`mark ${mark}`} aria-hidden="true" />}
      {text}
    </button>
  );
}
