// The page in a browser: nothing fails, nothing is loaded, something is seen, in light, in dark and on paper.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { benchmarkReport } from '../../../lib/benchmark/index.js'
import { syntheticBenchmark } from './synthetic.js'

const run = promisify(execFile)
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
const folders = (process.env['PATH'] ?? '').split(delimiter)
const browser = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
const skip = browser === undefined && 'no Chromium: apt-get install chromium-headless-shell'

async function open(t: Test, page: string, folder: string, args: readonly string[]): Promise<string> {
  const profile = join(folder, 'profile')
  const quiet = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    '--enable-logging=stderr',
    `--user-data-dir=${profile}`,
  ]
  const { stdout, stderr } = await run(browser!, [...quiet, ...args, pathToFileURL(page).href], { maxBuffer: 1 << 26 })
  t.notMatch(stderr, /CONSOLE/, 'nothing in the console')
  return stdout
}

/** The mean of all channels, and how far they are from it. */
async function seenIn(path: string): Promise<{ mean: number; deviation: number }> {
  const { channels } = await sharp(path).removeAlpha().stats()
  return {
    mean: channels.reduce((sum, { mean }) => sum + mean, 0) / 3,
    deviation: channels.reduce((sum, { stdev }) => sum + stdev, 0) / 3,
  }
}

t.test('a report with a sweep', { skip }, async (t) => {
  const folder = t.testdir()
  const runs = [1, 2, 4].map((batch) =>
    syntheticBenchmark(
      { copyIn: () => batch, compute: (i) => 4 * batch + i / 100, copyOut: () => batch },
      { queries: 50, shapes: { x: [batch, 3] }, model: 'm' },
    ),
  )
  const page = join(folder, 'report.html')
  await writeFile(page, benchmarkReport(runs))
  const [light, dark, paper] = ['light.png', 'dark.png', 'paper.pdf'].map((name) => join(folder, name))
  await open(t, page, folder, [`--screenshot=${light!}`, '--window-size=1200,1600'])
  await open(t, page, folder, [
    `--screenshot=${dark!}`,
    '--window-size=1200,1600',
    '--blink-settings=preferredColorScheme=0',
  ])
  const [day, night] = [await seenIn(light!), await seenIn(dark!)]
  t.ok(day.mean > 200 && day.deviation > 15, `light: ${JSON.stringify(day)}`)
  t.ok(night.mean < 80 && night.deviation > 10, `dark: ${JSON.stringify(night)}`)
  await open(t, page, folder, [`--print-to-pdf=${paper!}`])
  t.match((await readFile(paper!)).subarray(0, 5).toString(), '%PDF-')
  const dom = await open(t, page, folder, ['--dump-dom'])
  t.equal(
    dom.match(/<svg [^>]*class="chart"/g)?.length,
    2 + 3 * 3,
    'the parser of HTML sees the charts that the parser of XML sees',
  )
})
