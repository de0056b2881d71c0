/** A part of bench ort: @gutenye/ocr-node on six pictures, in a process on this package and one on onnxruntime-node. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { interleaved, median } from './measure.js'
import { roundsOf } from './quick.js'
import { note, row, type Row } from './report.js'
import type { ReadRound } from './read-pictures.js'

/** What each picture says, by lines. */
const texts = [
  ['Invoice 2026-114', 'Total 1 024.50', 'Due in 30 days'],
  ['Gate B12', 'Boarding 14:22'],
  ['from ONNX to answers'],
  ['No smoking', 'Platform 7', 'Exit to the left', 'Tickets'],
  ['Serial 40 71 88', 'Made in Europe'],
  ['Read me 42', 'upside down 1875', 'calibration'],
] as const

async function draw(folder: string): Promise<string[]> {
  return Promise.all(
    texts.map(async (lines, i) => {
      const [width, height] = [420 + 60 * (i % 3), 60 + 80 * lines.length]
      const drawn = lines.map((text, k) => `<text x="30" y="${70 + 80 * k}">${text}</text>`).join('')
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-size="${34 + 3 * i}" font-family="sans-serif">${drawn}</svg>`
      const path = join(folder, `${i}.png`)
      await sharp(Buffer.from(svg)).flatten({ background: '#f4efe2' }).png().toFile(path)
      return path
    }),
  )
}

function needed(name: string): string {
  const value = process.env[name]
  if (value === undefined)
    throw new Error(`${name} names a folder with @gutenye/ocr-node: npm run bench -- ort sets it`)
  return value
}

async function reader(folder: string, pictures: readonly string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('read-pictures.js', import.meta.url)), [folder, ...pictures])
  await once(child, 'message')
  return child
}

async function round(child: ChildProcess): Promise<ReadRound> {
  const answered = once(child, 'message')
  child.send('round')
  const [done] = (await answered) as [ReadRound]
  return done
}

/** Two rows: the time of six pictures, and how late the event loop is meanwhile. */
export async function reading(): Promise<Row[]> {
  note('@gutenye/ocr-node on six pictures …')
  const rounds = roundsOf(9)
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-bench-'))
  const pictures = await draw(folder)
  const ours = await reader(needed('TRT_BENCH_OCR_OURS'), pictures)
  const peer = await reader(needed('TRT_BENCH_OCR_THEIRS'), pictures)
  const late = { ours: [] as number[], peer: [] as number[] }
  const read = { ours: '', peer: '' }
  const measured = (name: 'ours' | 'peer', child: ChildProcess) => async (): Promise<number> => {
    const { ms, p99, text } = await round(child)
    late[name].push(p99)
    read[name] = text.join('\n')
    return ms
  }
  try {
    const ms = await interleaved(rounds, { ours: measured('ours', ours), peer: measured('peer', peer) })
    if (read.ours !== read.peer || !read.ours.includes(texts[2][0]))
      throw new Error(`the two read other texts:\n${read.ours}\n---\n${read.peer}`)
    const told = `peer: the same package on onnxruntime-node, in a process of its own; ${rounds} alternating rounds`
    const ratio = (value: number): Parameters<typeof row>[4] => ({ of: 'ratio', sign: '<=', value })
    return [
      row('@gutenye/ocr-node, six pictures', 'ms', ms.ours, ms.peer, ratio(1), told),
      row(
        'event-loop delay meanwhile, p99',
        'ms',
        median(late.ours.slice(1)),
        median(late.peer.slice(1)),
        ratio(0.1),
        told,
      ),
    ]
  } finally {
    for (const child of [ours, peer]) child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
