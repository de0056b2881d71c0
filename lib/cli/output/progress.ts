import { createRequire } from 'node:module'
import type cliProgress from 'cli-progress'
import type { BuildProgress } from '../../building/in-process.js'
import type { Sink } from './sink.js'
import { durationText, shortened } from './format.js'

/** How far something is. */
export interface Progress {
  /** `total` 0: nobody knows how much there is. `phase` is what is being done; `note` what stands behind the bar. */
  update(done: number, total: number, phase: string, note?: string): void
  /** Takes the bar away while something else is written; the next update draws it again. */
  pause(): void
  /** Takes the bar away for good: who still holds it tells nobody. Twice without harm. */
  end(): void
}

/** Where nobody reads a bar, a line is written when a phase begins and then not more often than this. */
const linesEveryMs = 5000

/** Of what takes no longer, nobody is told there. */
export const patienceMs = 2000

/** How time is told: tests have one of their own. */
export interface Clock {
  now(): number
}

export interface ProgressOptions {
  /** Nothing at all. */
  readonly quiet?: boolean | undefined
  /** Where no terminal is: how long nothing is said; {@link patienceMs} unless given. */
  readonly afterMs?: number | undefined
  readonly clock?: Clock | undefined
}

export function newProgress(
  stream: Sink,
  { quiet = false, afterMs = patienceMs, clock = performance }: ProgressOptions = {},
): Progress {
  if (quiet) return { update: () => {}, pause: () => {}, end: () => {} }
  return stream.isTTY === true ? barProgress(stream as NodeJS.WritableStream) : lineProgress(stream, afterMs, clock)
}

/** What its types leave out. */
interface Bar extends cliProgress.SingleBar {
  timer: NodeJS.Timeout | null
  render(): void
}

function barProgress(stream: NodeJS.WritableStream): Progress {
  // loaded when there is a bar, as tables are
  const { SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof cliProgress
  const bar = new SingleBar({
    stream,
    clearOnComplete: true,
    hideCursor: true,
    // our own listeners give the cursor back, whatever ends the process
    gracefulExit: false,
    fps: 10,
    etaBuffer: 50,
    format: barText,
  }) as Bar
  const render = bar.render.bind(bar)
  // a bar is no work that a process waits for
  bar.render = () => {
    render()
    bar.timer?.unref()
  }
  let [isShown, ended] = [false, false]
  const pause = (): void => {
    if (isShown) bar.stop()
    isShown = false
  }
  return {
    update: (done, total, phase, note = '') => {
      if (ended) return
      // from where it is: what was done before a pause took no time now, and would spoil what is left
      if (!isShown) bar.start(total, done, { phase, note })
      isShown = true
      bar.setTotal(total)
      bar.update(done, { phase, note })
    },
    pause,
    end: () => {
      pause()
      ended = true
    },
  }
}

const barWidth = 24

/**
 * One line: what is done, how far it is, how long it will take; at last the note, which a terminal cuts off where it is
 * too long.
 */
function barText(
  _options: unknown,
  { progress, eta, total }: { readonly progress: number; readonly eta: number; readonly total: number },
  { phase, note }: { readonly phase: string; readonly note: string },
): string {
  if (total === 0) return `${shortened(phase, 40).padEnd(40)} ${shortened(note, 24).padEnd(24)}`
  const full = Math.round(Math.min(1, progress) * barWidth)
  const left = Number.isFinite(eta) && eta > 0 ? `${durationText(eta * 1000)} left` : ''
  const percent = `${Math.floor(progress * 100)}`.padStart(3)
  return `${shortened(phase, 22).padEnd(22)} ${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${percent} % ${left === '' ? '' : `${left} `}${note}`.trimEnd()
}

function lineProgress(stream: Sink, afterMs: number, clock: Clock): Progress {
  let [begunAt, reportedAt, reported, ended] = [NaN, 0, '', false]
  return {
    update: (done, total, phase, note = '') => {
      if (ended) return
      const now = clock.now()
      if (Number.isNaN(begunAt)) begunAt = now
      if (now - begunAt < afterMs || (phase === reported && now - reportedAt < linesEveryMs)) return
      reportedAt = now
      reported = phase
      const share = total > 0 ? ` ${Math.floor((done / total) * 100)} %` : ''
      stream.write(`${phase}${share}${note === '' ? '' : ` ${note}`}\n`)
    },
    pause: () => {},
    end: () => void (ended = true),
  }
}

/**
 * TensorRT tells of phases inside of phases; people want to know of the outermost, and of what is done in it just now.
 */
export function buildListener(progress: Progress): (event: BuildProgress) => void {
  let outer: BuildProgress | undefined
  return (event) => {
    if (event.parent === '' || outer === undefined) outer = event
    const inner = event === outer ? '' : event.phase
    progress.update(outer.step, outer.steps, outer.phase, inner)
  }
}

/** What is measured takes its time, and `textOf` says what it is. */
export function timedListener<E extends { readonly elapsedMs: number; readonly totalMs: number }>(
  progress: Progress,
  textOf: (event: E) => string,
): (event: E) => void {
  return (event) => progress.update(Math.min(event.elapsedMs, event.totalMs), event.totalMs, textOf(event))
}
