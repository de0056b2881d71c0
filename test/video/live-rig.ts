/** Live sources over the loopback: ffmpeg pushes to where openVideo() listens. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { VideoFrame, VideoSource } from '../../lib/video/index.js'
import { until } from '../support/waiting.js'

/** A moving picture of 25 frames per second with key frames half a second apart, sent at `speed` times real time. */
const camera = (size: string, speed: number): string[] => [
  ...['-hide_banner', '-nostdin', '-loglevel', 'error', '-readrate', String(speed)],
  ...['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=25`],
  ...['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '12', '-pix_fmt', 'yuv420p'],
]

/** ffmpeg that pushes to a port, and tries again until somebody listens there. */
export class Pusher {
  readonly #output: readonly string[]
  readonly #speed: number
  #size = '160x120'
  #child: ChildProcess | undefined
  #isOver = false
  readonly #running: Promise<void>

  /** @param speed - Times real time. Default: 4, because readers wait for the first second of a source. */
  constructor(output: readonly string[], speed = 4) {
    this.#output = output
    this.#speed = speed
    this.#running = this.#run()
  }

  static tcp(port: number, speed?: number): Pusher {
    return new Pusher(['-f', 'mpegts', '-flush_packets', '1', `tcp://127.0.0.1:${port}`], speed)
  }

  /** As a camera whose plug is pulled; the next one has this size. */
  kill(size = this.#size): void {
    this.#size = size
    this.#child?.kill('SIGKILL')
  }

  /** As a camera that hangs. */
  stall(): void {
    this.#child?.kill('SIGSTOP')
  }

  async close(): Promise<void> {
    this.#isOver = true
    this.kill()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      this.#child = spawn('ffmpeg', [...camera(this.#size, this.#speed), ...this.#output], {
        stdio: 'ignore',
        argv0: 'pusher',
      })
      await once(this.#child, 'exit')
      await sleep(20)
    }
  }
}

/** The processes that this one has started for frames, and which run: not those of pushers. */
export function readers(): number {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return parent === String(process.pid) && state !== 'Z' && /^\S*ff(mpeg|probe)\0/.test(command)
    } catch {
      return false // it is gone
    }
  }).length
}

function descriptors(): number {
  return readdirSync('/proc/self/fd').filter((number) => {
    try {
      return /^pipe:|eventfd|socket/.test(readlinkSync(`/proc/self/fd/${number}`))
    } catch {
      return false
    }
  }).length
}

const threads = (): number => readdirSync('/proc/self/task').length

/** Looks whether all comes to be as it is now. */
export function leftovers(): () => Promise<boolean> {
  const before = { descriptors: descriptors(), threads: threads() }
  return () => until(() => readers() === 0 && descriptors() <= before.descriptors && threads() <= before.threads)
}

/** The next frame, which there is. */
export async function nextOf(iterator: AsyncIterator<VideoFrame, undefined>): Promise<VideoFrame> {
  const { value } = await iterator.next()
  if (value === undefined) throw new Error('there is no frame')
  return value
}

/** Keeps this process's thread busy. */
export function block(enough: () => boolean): void {
  const begun = performance.now()
  while (!enough()) if (performance.now() - begun > 60_000) throw new Error('It did not come within a minute')
}

/** Whether the counts of a video agree. */
export function isCounted(video: VideoSource): boolean {
  const { decoded, delivered, dropped } = video.stats()
  return delivered + dropped === decoded
}
