// SPDX-License-Identifier: Apache-2.0
//
// usage: node bundle.mjs OUTPUT
// One HTML file from src/: script and style inside, @TITLE@ and @DATA@ left for rooftile to fill in.

import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const here = new URL('.', import.meta.url).pathname;
const output = process.argv[2];
if (!output) throw new Error('usage: node bundle.mjs OUTPUT');

const common = { absWorkingDir: here, bundle: true, minify: true, write: false, charset: 'ascii' };
const script = await build({
  ...common,
  entryPoints: ['src/main.tsx'],
  format: 'iife',
  target: 'es2020',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'inline',
  define: { 'process.env.NODE_ENV': '"production"' },
});
const style = await build({ ...common, entryPoints: ['src/style.css'] });

// The notices that the licences of the libraries ask for.
const notices = ['echarts/NOTICE', 'zrender/LICENSE', 'preact/LICENSE'].map((file) => {
  const text = readFileSync(`${here}node_modules/${file}`, 'utf8').replaceAll('--', '- -').trim();
  return `${file}\n\n${text}`;
});

const parts = {
  '@NOTICES@': notices.join('\n\n\n'),
  '@STYLE@': style.outputFiles[0].text.trim(),
  '@SCRIPT@': script.outputFiles[0].text.trim(),
};
let page = readFileSync(`${here}src/page.html`, 'utf8');
for (const [mark, text] of Object.entries(parts)) {
  if (text.includes('</script') || text.includes('@DATA@') || text.includes('@TITLE@')) {
    throw new Error(`${mark} holds text that would break the page`);
  }
  page = page.replace(mark, () => text);
}
writeFileSync(output, page);
