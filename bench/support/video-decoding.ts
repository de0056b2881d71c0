/**
 * Frames of a 1080p clip, beside ffmpeg that throws them away, OpenCV, and a plain read of a child's stdout: rows of
 * the bench video.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { access, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'
import { openVideo } from '../../lib/video/index.js'
import { findPrograms } from '../../lib/video/programs/find.js'
import { interleaved, type Measurement, median } from './measure.js'
import { PythonPeer, required } from './python.js'
import { isQuick, roundsOf, scaledMs } from './quick.js'
import { note, row, type Row, shown } from './report.js'

const frames = isQuick ? 30 : 300
const rounds = roundsOf(5)
const bytesOfFrame = (1920 * 1080 * 3) / 2

/** H.264 of 6 Mb/s, of a moving picture with noise; made once. */
async function clip(ffmpeg: string): Promise<string> {
  const folder = join(packageRoot(), '.cache', 'video-clips')
  const path = join(folder, `bench-1080p-${frames}.mp4`)
  if (await access(path).then(() => true, () => false)) return path // prettier-ignore
  note('making a clip of 1080p …')
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `${process.pid}-bench-1080p.mp4`)
  const source = ['-f', 'lavfi', '-i', `testsrc2=size=1920x1080:rate=30:duration=${frames / 30},noise=alls=8:allf=t`]
  const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-b:v', '6M', '-pix_fmt', 'yuv420p']
  await promisify(execFile)(ffmpeg, ['-nostdin', '-loglevel', 'error', '-y', ...source, ...codec, temporary])
  await rename(temporary, path)
  return path
}

/**
 * Processor time of children that have ended, in milliseconds: field 16 and 17 of proc(5), in hundredths of a second.
 */
function childrenMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\) /, '').split(' ') // prettier-ignore
  return (Number(fields[13]) + Number(fields[14])) * 10
}

/** What decoding the clip took. */
interface Took {
  readonly perSecond: number
  /** Processor milliseconds a frame: of this process, and of it and its children. */
  readonly node: number
  readonly all: number
}

async function took(work: () => Promise<number>): Promise<Took> {
  const [cpu, children, begun] = [process.cpuUsage(), childrenMs(), performance.now()]
  const count = await work()
  const seconds = (performance.now() - begun) / 1000
  if (count !== frames) throw new Error(`${count} frames of ${frames} came`)
  const { user, system } = process.cpuUsage(cpu)
  const node = (user + system) / 1000
  return { perSecond: count / seconds, node: node / count, all: (node + childrenMs() - children) / count }
}

async function ours(path: string): Promise<number> {
  let count = 0
  for await (const frame of await openVideo(path)) {
    count++
    frame.close()
  }
  return count
}

const input = (path: string): string[] => ['-nostdin', '-loglevel', 'error', '-i', path, '-map', '0:V:0']

async function thrownAway(ffmpeg: string, path: string): Promise<number> {
  const child = spawn(ffmpeg, [...input(path), '-f', 'null', '-'], { stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number]
  return code === 0 ? frames : 0
}

/** Chunks as Node gives them, each copied into its frame. */
async function plain(ffmpeg: string, path: string): Promise<number> {
  const args = [...input(path), '-fps_mode', 'passthrough', '-pix_fmt', 'yuv420p', '-f', 'rawvideo', 'pipe:1']
  const child = spawn(ffmpeg, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  let [frame, at, count] = [Buffer.allocUnsafe(bytesOfFrame), 0, 0]
  for await (const chunk of child.stdout as AsyncIterable<Buffer>)
    for (let from = 0; from < chunk.length;) {
      const bytes = chunk.copy(frame, at, from)
      from += bytes
      at += bytes
      if (at < bytesOfFrame) continue
      ;[frame, at] = [Buffer.allocUnsafe(bytesOfFrame), 0]
      count++
    }
  if (child.exitCode === null) await once(child, 'exit')
  return count
}

/** The event loop's p99, in milliseconds, while something is done. */
async function loopP99(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(10) // its first reading only starts its clock
  await work()
  delay.disable()
  return delay.percentile(99) / 1e6
}

export async function decodingRows(): Promise<Row[]> {
  const { ffmpeg, version } = await findPrograms()
  const path = await clip(ffmpeg)
  const cv2 = await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'video_decoding.py')
  note('decoding …')
  try {
    const figures = new Map<string, number[]>()
    const each = (name: string, work: () => Promise<number>): Measurement => {
      return async () => {
        const { perSecond, node, all } = await took(work)
        for (const [what, value] of [
          ['node', node],
          ['all', all],
        ] as const)
          figures.set(`${name} ${what}`, [...(figures.get(`${name} ${what}`) ?? []), value])
        return perSecond
      }
    }
    const perSecond = await interleaved(rounds, {
      ours: each('ours', () => ours(path)),
      none: each('none', () => thrownAway(ffmpeg, path)),
      plain: each('plain', () => plain(ffmpeg, path)),
      cv2: async () => ((await cv2.ask({ path })) as { perSecond: number }).perSecond,
    })
    const of = (name: string): number => median(figures.get(name)!.slice(1))
    const p99 = await interleaved(rounds, {
      idle: () => loopP99(() => sleep(scaledMs(1500))),
      busy: () => loopP99(() => ours(path)),
    })
    const about = `${frames} frames of H.264, 6 Mb/s; ffmpeg ${version}; median of ${rounds} rounds`
    const least = (value: number) => ({ of: 'ratio', sign: '>=', value }) as const
    const most = (value: number) => ({ of: 'ratio', sign: '<=', value }) as const
    return [
      row('decoding 1080p, beside ffmpeg -f null', 'frames/s', perSecond.ours, perSecond.none, least(0.55), about),
      row(
        'decoding 1080p, beside OpenCV',
        'frames/s',
        perSecond.ours,
        perSecond.cv2,
        least(0.6),
        `peer: ${cv2.about}, to BGR`,
      ),
      shown(
        'decoding 1080p, beside a plain read of stdout',
        'frames/s',
        perSecond.ours,
        perSecond.plain,
        'peer: chunks copied into frames',
      ),
      row(
        'processor time a frame, both processes',
        'ms',
        of('ours all'),
        of('none all'),
        most(1.6),
        'peer: ffmpeg -f null',
      ),
      row(
        'processor time a frame, of Node',
        'ms',
        of('ours node'),
        of('plain node'),
        most(0.6),
        'peer: a plain read of stdout',
      ),
      row(
        'event loop p99 while it is read',
        'ms',
        p99.busy,
        p99.idle,
        { of: 'difference', sign: '<=', value: 5, isRemainder: true },
        'peer: an idle process',
      ),
    ]
  } finally {
    cv2.end()
  }
}
