/**
 * A program of bench ort: reads the text of pictures by the @gutenye/ocr-node of a folder, as often as it is asked to.
 * Its arguments: the folder, and the pictures.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** What became of one round: all pictures, one after another. */
export interface ReadRound {
  readonly ms: number
  /** Of the event loop's delay while it ran, in milliseconds. */
  readonly p99: number
  /** The text of all pictures. */
  readonly text: readonly string[]
}

interface Reader {
  detect(path: string): Promise<readonly { readonly text: string }[]>
}

const [folder = '', ...pictures] = process.argv.slice(2)
const path = createRequire(join(folder, 'program.js')).resolve('@gutenye/ocr-node')
const { default: Ocr } = (await import(pathToFileURL(path).href)) as { default: { create(): Promise<Reader> } }
const reader = await Ocr.create()

async function round(): Promise<ReadRound> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(10) // its first reading only starts its clock
  const text: string[] = []
  const begun = performance.now()
  for (const picture of pictures) text.push(...(await reader.detect(picture)).map((line) => line.text))
  const ms = performance.now() - begun
  await sleep(10) // a loop that was blocked to the end has not told yet
  delay.disable()
  return { ms, p99: delay.percentile(99) / 1e6, text }
}

process.on('message', () => void round().then((done) => process.send?.(done)))
process.send?.('ready')
