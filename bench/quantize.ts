/**
 * Calibrating PP-OCR's detector for INT8, against onnxruntime's own Python tools: time and memory. `--rounds N`. Needs
 * Python 3 with pip; fetches the rest once. Linux only.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { realModels } from '../test/support/real-models.js'
import type { Calibrated } from './support/calibrate.js'
import { median } from './support/measure.js'
import { runParts } from './support/parts.js'
import { onnxruntimeVersion } from './support/peers.js'
import { pictures } from './support/pictures.js'
import { required } from './support/python.js'
import { flags, isQuick, roundsOf } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

const model = realModels.detector
const [few, many] = isQuick ? [2, 10] : [20, 500]
/** The peer takes minutes with 2048 bins. */
const bins = isQuick ? 256 : 2048

async function told<T>(file: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<T> {
  const { stdout } = await promisify(execFile)(file, args, { env })
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as T // onnxruntime's tools print, too
}

const program = fileURLToPath(new URL('support/calibrate.js', import.meta.url))
/** In a process of its own, as all are. `inputs`: a folder, or a number of pictures. */
const ours = (inputs: string): Promise<Calibrated> => told(process.execPath, [program, model, inputs])

const script = fileURLToPath(new URL('../../bench/support/calibrate.py', import.meta.url))
const peer = (folder: string): Promise<Calibrated & { readonly about: string }> =>
  told(required('TRT_BENCH_PYTHON'), ['-B', script, model, folder, String(bins)], {
    ...process.env,
    PYTHONPATH: required('TRT_BENCH_PYTHONPATH'),
  })

/** The same files for both, in turns. */
async function besideThePeer(rounds: number, folder: string): Promise<Row[]> {
  let at = 0
  for await (const { data } of pictures(few))
    await writeFile(join(folder, `${String(at++).padStart(4, '0')}.f32`), data)
  const [mine, theirs]: [Calibrated[], Awaited<ReturnType<typeof peer>>[]] = [[], []]
  for (let round = 1; round <= rounds; round++) {
    note(`round ${round} of ${rounds}: ours …`)
    mine.push(await ours(folder))
    note(`round ${round} of ${rounds}: onnxruntime's, which takes minutes …`)
    theirs.push(await peer(folder))
  }
  const [here, there, about] = [mine[0]?.ranges ?? 0, theirs[0]?.ranges ?? 0, theirs[0]?.about ?? '']
  const how = `peer: ${about}, entropy calibrator, ${bins} bins; ${few} pictures of 320x320; ranges: ${here} here, ${there} there; median of ${rounds} rounds, each in a process of its own`
  const of = (figure: (each: Calibrated) => number): [number, number] => [
    median(mine.map(figure)),
    median(theirs.map(figure)),
  ]
  return [
    row('calibration, time', 's', ...of(({ ms }) => ms / 1000), { of: 'ratio', sign: '<=', value: 0.5 }, how),
    row(
      'calibration, peak memory',
      'MiB',
      ...of(({ peakKiB }) => peakKiB / 1024),
      { of: 'ratio', sign: '<=', value: 0.2 },
      how,
    ),
  ]
}

/** What more pictures take. */
async function scaling(): Promise<Row[]> {
  note(`${few} pictures, made as they are needed …`)
  const some = await ours(String(few))
  note(`${many} pictures …`)
  const all = await ours(String(many))
  const how = `ours of ${many} pictures, beside ours of ${few}: made as they are needed, none kept; ${(all.ms / many).toFixed(0)} ms a picture`
  const goal = { of: 'ratio', sign: '<=', value: 1.1 } as const
  return [row('peak memory of more pictures', 'MiB', all.peakKiB / 1024, some.peakKiB / 1024, goal, how)]
}

const options = { ...flags, rounds: { type: 'string' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const folder = await mkdtemp(join(tmpdir(), 'trt-bench-'))
const rounds = roundsOf(1, values.rounds)
const parts = { peer: () => besideThePeer(rounds, folder), scaling }
const on = machine({ ours: onnxruntimeVersion(), model: "PP-OCR's detector" })
try {
  await runParts(parts, positionals, { bench: 'quantize', machine: on, json: values.json })
} finally {
  await rm(folder, { recursive: true })
}
