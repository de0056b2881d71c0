/** What the programs of all examples share: arguments, results on stdout, all else on stderr, errors without stacks. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { Command, InvalidArgumentError, Option } from 'commander'
import { TensorRTError } from 'node-tensorrt'

/** What every example can be asked for. */
export interface Given {
  readonly out: string
  readonly json: boolean
}

/** Results, as `--json` prints them and as people read them. */
export interface Done {
  readonly results: object
  readonly text: string
}

/** For people, and never on stdout: that is for results. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** A command with the options of all examples. */
export function commandOf(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('--out <DIR>', 'the folder to write to', 'out')
    .option('--json', 'print the results as JSON', false)
}

export function backendOption(...names: readonly string[]): Option {
  return new Option('--backend <NAME>', 'what runs the model').choices(names).default(names[0])
}

export function widthOption(): Option {
  return new Option('--width <FACTOR>', "factor of the seeded model's channels, 0 to 1").argParser(share)
}

/**
 * Runs a command. What the machine or the user can mend is told without a stack, and the exit code is 1; anything else
 * is a mistake of ours.
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- whoever calls it knows his options
export function main<G extends Given>(
  command: Command,
  work: (given: G, args: readonly string[]) => Promise<Done>,
): void {
  const { args } = command.parse()
  const given = command.opts<G>()
  mkdir(given.out, { recursive: true })
    .then(() => work(given, args))
    .then(({ results, text }) => process.stdout.write(`${given.json ? JSON.stringify(results, null, 2) : text}\n`))
    .catch((error: unknown) => {
      const known = error instanceof TensorRTError || (error instanceof Error && 'syscall' in error)
      note(known ? error.message : String((error as Error).stack))
      process.exitCode = 1
    })
}

type Cell = string | number | { readonly content: string; readonly colSpan: number }

export function tableOf(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const table = new Table({ head: [...head], style: { head: [], border: [] } })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

/** Shows how far something is, while it works; nothing where stderr is no terminal. */
export async function withBar<T>(
  format: string,
  work: (show: (step: number, steps: number, words: object) => void) => Promise<T>,
): Promise<T> {
  const bar = new SingleBar({ stream: process.stderr, clearOnComplete: true, hideCursor: true, format })
  bar.start(1, 0)
  try {
    return await work((step, steps, words) => {
      bar.setTotal(steps)
      bar.update(step, words)
    })
  } finally {
    bar.stop()
  }
}

/** For an option's value. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0) return number
  throw new InvalidArgumentError('expected a whole number above 0')
}

export function share(text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && number >= 0 && number <= 1) return number
  throw new InvalidArgumentError('expected a number from 0 to 1')
}

/** @throws TensorRTError ERR_TRT_FILE for the first that is not there */
export function checkThere(...files: readonly (string | undefined)[]): void {
  const missing = files.find((file) => file !== undefined && !existsSync(file))
  if (missing !== undefined) throw new TensorRTError('ERR_TRT_FILE', `There is no file ${missing}`)
}

/** A photograph of @vladmandic/face-api's. */
export function facePhoto(number: number): string {
  const folder = dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json'))
  return join(folder, 'demo', `sample${number}.jpg`)
}

/** The ONNX file of CenterFace, trained, that scripts/centerface.mjs has fetched for the command. */
export function centerFace(command: string): string {
  const path = process.env['NODE_TENSORRT_CENTERFACE']
  if (path !== undefined) return path
  throw new TensorRTError('ERR_TRT_FILE', `CenterFace is not at hand: it is fetched by ${command}`)
}
