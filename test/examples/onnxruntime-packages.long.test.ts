// The examples that install packages of other people's: both runs, the same answers, the figures and the plot.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DOMParser } from '@xmldom/xmldom'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { runNode } from '../support/children.js'
import { root } from '../package/support.js'

interface Side {
  readonly took: number
  readonly delay: Readonly<Record<'p50' | 'p90' | 'p99' | 'max', number>>
  readonly ticks: readonly unknown[]
}

async function compares(t: Test, name: string, args: readonly string[], count: RegExp): Promise<void> {
  const out = temporaryFolder(t)
  const program = join(root, 'dist', 'examples', name, 'main.js')
  const { code, stdout, stderr } = await runNode([program, '--out', out, ...args])
  t.equal(code, 0, stderr)
  t.match(stdout, /before: onnxruntime-node .*after: node-tensorrt /s)
  t.match(stdout, count)
  const { before, after } = JSON.parse(await readFile(join(out, `${name}.json`), 'utf8')) as Record<string, Side>
  for (const { took, delay, ticks } of [before!, after!])
    t.ok(took > 0 && ticks.length > 0 && delay.p50 > 0 && delay.p50 <= delay.p99 && delay.p99 <= delay.max)
  t.ok(after!.delay.p50 < before!.delay.p50 / 2, `${after!.delay.p50} ms and ${before!.delay.p50} ms`)
  const drawing = new DOMParser().parseFromString(await readFile(join(out, `${name}.svg`), 'utf8'), 'image/svg+xml')
  t.equal(drawing.getElementsByTagName('polyline').length, 2, 'a line for each run')
}

t.test('transformers: a seeded model of two layers', async (t) =>
  compares(t, 'transformers', ['--layers', '2'], /The answers \(200\) are the same/),
)

t.test('read-text-ocr-node: a picture that is written', async (t) =>
  compares(t, 'read-text-ocr-node', ['--rounds', '2'], /The answers \([1-9]\d*\) are the same/),
)
