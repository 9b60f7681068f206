// SPDX-License-Identifier: Apache-2.0
//
// usage: node pages_test.mjs ROOFTILE SOURCE_DIR [SCREENSHOT_DIR]
// Makes pages with the program, opens them in headless Chromium and uses them as a reader would:
// hover, filter, search, sort, save. Exits with 77 (skipped) when there is no browser.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [rooftile, source, screenshots] = process.argv.slice(2).map((path) => resolve(path));

function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}

const library = join(source, 'web/node_modules/playwright-core/index.mjs');
if (!existsSync(library)) skip('no playwright-core; ./x web installs it');
const browserPath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path && existsSync(path),
);
if (!browserPath) skip('no Chromium; install the package chromium or set CHROMIUM');
const { chromium } = await import(pathToFileURL(library).href);

const folder = mkdtempSync(join(tmpdir(), 'rooftile-pages-'));
const path = (name) => join(folder, name);
const run = (...args) => execFileSync(rooftile, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });

// A profile with many kernels, one of them with a name that tries to leave the page.
const EVIL = '</script><script>window.broken = true</script><img src=x onerror="window.broken=1">&amp;"quoted"';
const FORMULA = '=HYPERLINK(1)';
function profile({ slower = 1, prefix = 'void gemm_' } = {}) {
  const header =
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"';
  const lines = [header];
  for (let i = 0; i < 60; ++i) {
    const name = i === 0 ? EVIL : i === 1 ? FORMULA : i % 10 === 9 ? `void copy_${i}<float>(float*)` : `${prefix}${i}<float>(float*)`;
    const flops = i % 10 === 9 ? 0 : 1e6 * (i + 1);
    const values = [
      ['gpu__time_duration.sum', 'nsecond', (1000000 / (i + 1)) * (i % 2 ? slower : 1)],
      ['sm__sass_thread_inst_executed_op_fadd_pred_on.sum', 'inst', flops],
      ['sm__sass_thread_inst_executed_op_fmul_pred_on.sum', 'inst', 0],
      ['sm__sass_thread_inst_executed_op_ffma_pred_on.sum', 'inst', flops],
      ['l1tex__t_bytes.sum', 'byte', 4e6],
      ['lts__t_bytes.sum', 'byte', 2e6],
      ['dram__bytes.sum', 'byte', 1e6],
    ];
    for (const [metric, unit, value] of values) {
      const fields = [i, 1, 'app', 'host', name, 1, 7, '(128, 1, 1)', '(80, 1, 1)', 0, '7.0', 'Command line profiler metrics', metric, unit, value];
      lines.push(fields.map((f) => `"${String(f).replaceAll('"', '""')}"`).join(','));
    }
  }
  return lines.join('\n') + '\n';
}

const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });

async function open(name, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
  const problems = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`asks the network for ${request.url()}`);
  });
  await page.goto(pathToFileURL(path(name)).href);
  await page.waitForSelector('canvas');
  return { page, problems };
}

async function shoot(page, name) {
  if (screenshots) await page.screenshot({ path: join(screenshots, name), fullPage: true });
}

const rows = (page) => page.locator('#kernels tbody tr').count();
const shown = async (page) => Number(/^\d+/.exec(await page.locator('#shown').innerText())?.[0]);

/** Moves over the chart in a grid until a tooltip shows. */
async function hover(page) {
  const box = await page.locator('.chart canvas').first().boundingBox();
  for (let y = 30; y < box.height - 60; y += 9) {
    for (let x = 90; x < box.width - 30; x += 13) {
      await page.mouse.move(box.x + x, box.y + y);
      const tip = page.locator('.tip');
      if ((await tip.count()) > 0 && (await tip.first().isVisible())) return tip.first().innerText();
    }
  }
  return '';
}

async function save(page, button) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.controls').first().getByRole('button', { name: button, exact: true }).click(),
  ]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

async function testRoofline() {
  writeFileSync(path('profile.csv'), profile());
  run('roofline', 'profile.csv', '--gpu', 'v100-sxm2-16gb', '-o', 'chart.html');
  const { page, problems } = await open('chart.html');
  assert.equal(await page.evaluate(() => window.broken), undefined, 'a kernel name became markup');
  assert.equal(await rows(page), 60);
  assert.equal(await shown(page), 60);
  assert.equal(await page.locator('#kernels tbody td').first().getAttribute('title'), EVIL);
  await shoot(page, 'light.png');

  const tip = await hover(page);
  for (const word of ['intensity', 'of roof', 'limiter', 'void gemm_']) {
    assert.ok(tip.includes(word) || tip.includes('</script>'), `tooltip lacks "${word}": ${tip}`);
  }

  await page.fill('#search', 'copy');
  assert.equal(await rows(page), 6, 'search: copy_9, copy_19, ... copy_59');
  await page.fill('#search', 'no such kernel');
  assert.equal(await shown(page), 0);
  assert.ok(await page.locator('.empty').isVisible());
  await page.fill('#search', '');

  // The first kernel takes 1 / H(60) = 21.4 % of the time, so it alone makes the top 20 %.
  await page.locator('#share').fill('20');
  assert.equal(await shown(page), 1);
  await page.locator('#share').fill('100');

  await page.getByRole('button', { name: 'fp32', exact: true }).click();
  assert.equal(await shown(page), 6, 'without fp32 the kernels without FLOPs are left');
  await page.getByRole('button', { name: 'fp32', exact: true }).click();

  const first = () => page.locator('#kernels tbody tr td').first().innerText();
  const before = await first();
  await page.locator('#kernels th').filter({ hasText: 'time' }).getByRole('button').click();
  await page.locator('#kernels th').filter({ hasText: 'time' }).getByRole('button').click();
  assert.notEqual(await first(), before, 'the shortest kernel comes first');

  await page.locator('#kernels tbody tr').nth(3).click();
  assert.ok(await page.locator('#details').isVisible());
  await page.getByRole('button', { name: 'time-based' }).click();
  await shoot(page, 'time.png');
  const times = (await save(page, 'SVG')).content.toString();
  assert.match(times, /1 launch: 4\.2 us/, 'the box of the launches of the chosen kernel');
  await page.getByRole('button', { name: 'close' }).click();
  const allTimes = (await save(page, 'SVG')).content.toString();
  assert.match(allTimes, /1 launch: 4\.2 us/, 'the box of the launches without a chosen kernel');
  await page.getByRole('button', { name: 'roofline', exact: true }).click();

  const csv = await save(page, 'CSV');
  assert.equal(csv.content.toString().trim().split('\n').length, 61);
  assert.match(csv.content.toString(), /^'=HYPERLINK/m, 'a formula is defused');
  assert.doesNotMatch(csv.content.toString(), /^=|,=/m);
  assert.equal(JSON.parse((await save(page, 'JSON')).content).kernels.length, 60);
  const svg = (await save(page, 'SVG')).content.toString();
  assert.ok(svg.startsWith('<svg') && svg.includes('fp32'), 'SVG with named roofs');
  const png = (await save(page, 'PNG')).content;
  assert.equal(png.subarray(1, 4).toString(), 'PNG');

  const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await dark();
  await page.click('#theme');
  assert.notEqual(await dark(), light);
  await shoot(page, 'dark.png');
  assert.deepEqual(problems, []);
  await page.close();
}

async function testNarrow() {
  const { page, problems } = await open('chart.html', { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `the page is ${width} pixels wide in a window of 390`);
  assert.ok((await page.locator('.chart').first().boundingBox()).y < 400, 'the chart stands before the filters');
  assert.ok(await page.locator('#search').isVisible());
  await shoot(page, 'narrow.png');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.ok(!(await page.locator('.controls').first().isVisible()), 'paper has no buttons');
  assert.deepEqual(problems, []);
  await page.close();
}

/** Pixels by which a table is wider than the box that shows it. */
const overhang = (page, id) =>
  page.evaluate((name) => {
    const box = document.getElementById(name).parentElement;
    return box.scrollWidth - box.clientWidth;
  }, id);

async function testCompare() {
  writeFileSync(path('before.csv'), profile());
  writeFileSync(path('after.csv'), profile({ slower: 2 }));
  run('roofline', 'before=before.csv', 'after=after.csv', '--gpu', 'v100-sxm2-16gb', '--compare', '-o', 'compare.html');
  const { page, problems } = await open('compare.html', { viewport: { width: 1400, height: 900 } });
  const order = await page.evaluate(() => {
    const at = (id) => document.getElementById(id);
    return at('kernel_differences').compareDocumentPosition(at('kernels')) & Node.DOCUMENT_POSITION_FOLLOWING;
  });
  assert.ok(order, 'differences stand before the kernels');
  assert.ok((await page.locator('#kernel_differences tbody tr').count()) >= 15);
  assert.deepEqual(
    (await page.locator('.legend .run').evaluateAll((all) => all.map((e) => e.parentElement.innerText.trim()))),
    ['before', 'after'],
  );
  const hollow = (await save(page, 'SVG')).content.toString().match(/fill="none"[^>]*stroke="#(56b4e9|0072b2|d55e00)"/g) ?? [];
  // The second run: 54 kernels with FLOPs at three levels.
  assert.equal(hollow.length, 162, 'markers of the second run are hollow');
  await shoot(page, 'compare.png');
  assert.deepEqual(problems, []);
  await page.close();
}

async function testTablesFit() {
  // A column for the run and one for predictions: the widest table there is.
  const profilePath = join(source, 'tests/golden/roofline/predict/profile.csv');
  run('roofline', `first-run-with-a-name=${profilePath}`, `second-run=${profilePath}`, '--gpu', 'a100-sxm-40gb', '--predict', '-o', 'wide.html');
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1400, 1000]) {
      const { page } = await open('wide.html', { viewport: { width, height: 900 }, colorScheme });
      assert.ok((await page.locator('#kernels th').allInnerTexts()).includes('phase'));
      for (const id of ['kernels', 'predictions']) {
        assert.equal(await overhang(page, id), 0, `${id} in ${width} pixels, ${colorScheme}`);
      }
      await page.close();
    }
  }
  const { page } = await open('wide.html', { viewport: { width: 700, height: 900 } });
  assert.ok((await overhang(page, 'kernels')) > 0);
  const style = await page.evaluate(() => {
    const { overflowX, backgroundImage } = getComputedStyle(document.querySelector('#kernels').parentElement);
    return { overflowX, backgroundImage };
  });
  assert.equal(style.overflowX, 'auto');
  assert.ok(style.backgroundImage.includes('gradient'), 'shadows say that there is more');
  await page.emulateMedia({ media: 'print' });
  assert.ok((await overhang(page, 'kernels')) <= 0, 'paper is 700 pixels wide');
  await page.close();
}

async function testLowerBounds() {
  // Names of tensor kernels without a tensor counter in the export.
  writeFileSync(path('partial.csv'), profile({ prefix: 'cutlass_tensorop_gemm_' }).replaceAll('"7.0"', '"8.0"'));
  run('roofline', 'partial.csv', '--gpu', 'a100-sxm-40gb', '-o', 'partial.html');
  const { page, problems } = await open('partial.html');
  const facts = await page.locator('.facts').first().innerText();
  assert.match(facts, />=[\d.]+ GFLOP\b/, facts);
  assert.ok((await page.locator('#kernels tbody').innerText()).includes('\u2265'));
  assert.ok((await page.locator('#page').innerText()).includes('are lower bounds'));
  assert.ok((await page.locator('.legend').innerText()).includes('arrow: FLOPs incomplete'));
  assert.deepEqual(problems, []);
  await page.close();
}

async function testPredict() {
  run('predict', 'gpt2', '--gpu', 't4', '--phase', 'train', '--batch', '2', '--seq', '128', '-o', 'step.html');
  const { page, problems } = await open('step.html');
  const text = await page.locator('#page').innerText();
  for (const word of ['step', 'bound', 'weights', 'operators', 'fits']) assert.ok(text.includes(word), word);
  assert.ok((await page.locator('#operators tbody tr').count()) > 20);
  assert.match(text, /from: rooftile \d+\.\d+.*, gpu t4 embedded:[0-9a-f]{12}, model gpt2 embedded:[0-9a-f]{12}/);
  assert.ok((await hover(page)).includes('intensity'));
  // The verdict comes first, whether it fits in colour, and the chart is on the first screen.
  assert.match(await page.locator('#verdict li').first().innerText(), /ms .*80 % interval/);
  assert.ok((await page.locator('#verdict .good').innerText()).startsWith('fits'));
  assert.ok((await page.locator('.chart').first().boundingBox()).y < 600);
  // A row that is clicked is chosen in the chart; a search leaves the same rows in both.
  await page.locator('#operators tbody tr', { hasText: 'linear' }).first().click();
  const chosen = await page.locator('#operators tr.picked td').first().innerText();
  assert.ok((await page.locator('#details').innerText()).includes(chosen));
  await page.getByRole('button', { name: 'close' }).click();
  assert.equal(await page.locator('#operators tr.picked').count(), 0);
  await page.fill('#search', 'attn');
  const found = await page.locator('#operators tbody tr').count();
  assert.ok(found > 3 && found < 40, `${found} rows`);
  assert.equal(await shown(page), found);
  await page.fill('#search', '');
  await shoot(page, 'predict.png');
  assert.deepEqual(problems, []);
  await page.close();
}

/** Bars with whiskers: rows and bars are chosen and searched together. */
async function testBars() {
  run('compare', 'gpt2', '--gpus', 'l4,t4,h100-sxm', '--phase', 'train', '--batch', '8', '-o', 'gpus.html');
  run('scale', 'alexnet', '--batch', '32', '--gpu', 'v100-sxm2-16gb', '--study', '-o', 'scale.html');
  run('traffic', 'resnet50', '--batch', '64', '--gpu', 'v100-sxm2-16gb', '-o', 'traffic.html');
  for (const [name, table] of [['gpus', 'gpus'], ['scale', 'variants'], ['traffic', 'layers']]) {
    for (const [width, colorScheme] of [[1400, 'light'], [420, 'dark']]) {
      const { page, problems } = await open(`${name}.html`, { viewport: { width, height: 900 }, colorScheme });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} is ${wide} pixels wide in a window of ${width}`);
      assert.ok((await page.locator('#verdict li').count()) > 0);
      assert.ok((await page.locator('.chart').first().boundingBox()).y < 600, 'chart on the first screen');
      assert.ok((await page.locator(`#${table} tbody tr`).count()) > 2);
      await shoot(page, `${name}-${width}-${colorScheme}.png`);
      assert.deepEqual(problems, []);
      await page.close();
    }
  }
  const { page } = await open('gpus.html');
  assert.match(await page.locator('#verdict li').first().innerText(), /^fastest: h100-sxm, /);
  assert.match(await page.locator('#verdict .good').innerText(), /^fits: l4, t4, h100-sxm$/);
  assert.ok((await page.locator('h2').allInnerTexts()).includes('GPUs'));
  await page.locator('#gpus tbody tr').first().click();
  assert.equal(await page.locator('#gpus tr.picked').count(), 1);
  await page.fill('#search', 'h100');
  assert.equal(await page.locator('#gpus tbody tr').count(), 1);
  await page.close();
}

/** A bar that stands for several rows is found by their names, and marks them when clicked. */
async function testGroupedBars() {
  const { page: scale } = await open('scale.html');
  await scale.fill('#search', 'sms x4');
  assert.deepEqual(await scale.locator('#variants tbody tr td:first-child').allInnerTexts(), ['sms x4']);
  assert.ok(await scale.locator('.figure canvas').isVisible(), 'the bar of sms stays');
  await scale.close();
  const { page } = await open('traffic.html', { viewport: { width: 1400, height: 900 } });
  await page.fill('#search', 'layer1/conv1');
  assert.ok(await page.locator('.figure canvas').isVisible(), 'the bar of layer1 stays');
  await page.fill('#search', '');
  const box = await page.locator('.figure canvas').first().boundingBox();
  for (let y = 20; y < box.height && (await page.locator('#layers tr.picked').count()) === 0; y += 4) {
    await page.mouse.click(box.x + 132, box.y + y);
  }
  const marked = await page.locator('#layers tr.picked td:first-child').allInnerTexts();
  assert.ok(marked.length > 3, marked.join());
  assert.equal(new Set(marked.map((name) => name.split('/')[0])).size, 1, marked.join());
  await page.close();
}

async function testEffectiveRate() {
  run('predict', 'resnet18', '--gpu', 'v100-sxm2-16gb', '--batch', '16', '-o', 'conv.html');
  const { page, problems } = await open('conv.html');
  const legend = await page.locator('.legend').allInnerTexts();
  assert.ok(legend.some((text) => /kernels above the roof: effective rate, Winograd/.test(text)), legend.join());
  assert.ok((await page.locator('.legend .ring').count()) > 0);
  await shoot(page, 'effective_rate.png');
  assert.deepEqual(problems, []);
  await page.close();
}

async function testMachine() {
  // docs/format/samples.md; the last four columns are derived and not read.
  const lines = [
    'rooftile-samples,1,00ff',
    'pattern,dtype,pipe,working_set_bytes,flops_per_element,pass_bytes,pass_flops,pass_steps,passes,repetitions,fast_s,low_s,high_s,confidence,minimum_s,median_s,maximum_s,spread,converged,bytes_per_s,flop_per_s,flop_per_byte,s_per_step',
  ];
  const sample = (pattern, set, flops) => {
    const work = (set / 16) * flops;
    lines.push(`${pattern},fp64,vector,${set},${flops},${set},${work},0,10,12,1e-7,1e-7,2e-7,0.9,1e-7,1e-7,3e-7,0.1,1,0,0,0,`);
  };
  for (const set of [8192, 65536, 1048576]) sample('load', set, 0);
  for (const flops of [1, 4, 16]) sample('update', 8192, flops);
  writeFileSync(path('samples.csv'), lines.join('\n') + '\n');
  run('characterize', '--from-samples', 'samples.csv', '--plot', 'machine.html');
  const { page, problems } = await open('machine.html');
  assert.equal(await page.locator('.figure').count(), 2, 'bandwidth and rate');
  assert.ok(await page.locator('.figure canvas').last().isVisible());
  await shoot(page, 'machine.png');
  await page.setViewportSize({ width: 420, height: 900 });
  // Charts follow the window when they have been told of it.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 420);
  assert.deepEqual(problems, []);
  await page.close();
}

try {
  for (const test of [testRoofline, testNarrow, testCompare, testTablesFit, testLowerBounds, testPredict, testBars, testGroupedBars, testEffectiveRate, testMachine]) {
    await test();
    console.log(`ok ${test.name}`);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
