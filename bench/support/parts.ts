/** Runs the parts of a bench, and reads what another bench printed. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isQuick } from './quick.js'
import { failedRow, note, type PartRow, Report, type Row } from './report.js'

/** Measures some rows. A generator yields each row as soon as it is measured. */
export type Part = () => Promise<readonly Row[]> | AsyncIterable<Row>
export type Parts = Readonly<Record<string, Part>>

export interface About {
  readonly bench: string
  readonly machine: Readonly<Record<string, string>>
  readonly json: boolean
}

/** How long open handles of a failed part can keep the process alive after the last part. */
const graceMs = 20_000

/**
 * Runs the named parts, all if no name is given, and prints each row as soon as it is measured. A part that throws
 * becomes a row with `failed`; the other parts still run, and the exit code of the process becomes 1.
 *
 * The variable TRT_BENCH_PARTS names the parts instead, as `--against` repeats only some of them.
 */
export async function runParts(
  parts: Parts,
  names: readonly string[],
  { bench, machine, json }: About,
): Promise<readonly PartRow[]> {
  const unknown = names.find((name) => !Object.hasOwn(parts, name))
  if (unknown !== undefined)
    throw new Error(`Expected a part of the bench ${bench} (${Object.keys(parts).join(', ')}) but received ${unknown}.`)
  const repeated = process.env['TRT_BENCH_PARTS']?.split(',')
  const wanted = repeated ?? (names.length > 0 ? names : Object.keys(parts))
  const report = new Report({ bench, date: new Date().toISOString(), machine, quick: isQuick }, json)
  for (const [name, part] of Object.entries(parts)) {
    if (!wanted.includes(name)) continue
    try {
      const measured = part()
      for await (const row of measured instanceof Promise ? await measured : measured)
        report.add({ ...row, part: name })
    } catch (error) {
      if (error instanceof Error) note(String(error.stack))
      report.add({ ...failedRow(name, error), part: name })
    }
  }
  report.end()
  if (report.rows.some((row) => row.failed !== undefined)) {
    process.exitCode = 1
    setTimeout(() => process.exit(), graceMs).unref()
  }
  return report.rows
}

/** Parts that share a context, such as a device; `prepare` is called before each part. */
export function withContext<C>(
  parts: Readonly<Record<string, (context: C) => ReturnType<Part>>>,
  context: C,
  prepare: () => void = () => {},
): Parts {
  const bind = (part: (context: C) => ReturnType<Part>): Part => {
    return () => {
      prepare()
      return part(context)
    }
  }
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, bind(part)]))
}

/** The rows in the output of a bench with `--json`: lines of JSON, or one document at older commits. */
export function rowsOf(stdout: string): readonly (Row & Partial<PartRow>)[] {
  const parsed: unknown[] = stdout.startsWith('{\n')
    ? (JSON.parse(stdout) as { rows: unknown[] }).rows
    : stdout
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line) as unknown)
  return (parsed as readonly PartRow[]).map((row) => ({ ...row, ours: row.ours ?? NaN }))
}

/**
 * Runs another bench of this folder in a separate process.
 *
 * @returns Its rows; rows of failed parts are among them.
 * @throws Error (as a rejection) if it ends without a row.
 */
export function rowsOfBench(
  bench: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<readonly Row[]> {
  const program = fileURLToPath(new URL(`../${bench}.js`, import.meta.url))
  const command = [program, '--json', ...(isQuick ? ['--quick'] : []), ...args]
  return new Promise((resolve, reject) => {
    const its = { ...env, TRT_BENCH_PARTS: undefined }
    execFile(process.execPath, command, { env: its, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const rows = stdout === '' ? [] : rowsOf(stdout)
      if (rows.length > 0) resolve(rows)
      else reject(new Error(`The bench ${bench} printed no row: ${stderr.trim() || (error?.message ?? '')}`))
    })
  })
}
