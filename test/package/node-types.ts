import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { installPackage } from '../engine/installed.js'
import { temporaryFolder } from '../support/folders.js'
import { readText, root, run } from './support.js'

/** The folder of a package of this project. */
export const installedTypes = (name: string): string => join(root, 'node_modules', name)

/** The options of the TypeScript section of docs/guides/bundlers.md. */
function guideOptions(): Record<string, unknown> {
  const [, section = ''] = readText('docs/guides/bundlers.md').split('\n## TypeScript\n')
  const [, json = ''] = /```json\n([^`]+)```/.exec(section) ?? []
  return (JSON.parse(json) as { compilerOptions: Record<string, unknown> }).compilerOptions
}

/** The entries that need no peer for their types. */
function entries(): string[] {
  const { exports } = JSON.parse(readText('package.json')) as { exports: Readonly<Record<string, unknown>> }
  return Object.keys(exports).filter((name) => name !== './package.json' && name !== './onnxruntime')
}

/**
 * Compiles an import of every entry, in a folder outside of the project that has these types of Node.
 * @returns The version of the types, and what TypeScript said
 */
export async function compiledAgainst(
  t: Test,
  types: string,
): Promise<{ readonly version: string; readonly said: string }> {
  const folder = temporaryFolder(t)
  installPackage(folder, { addon: false })
  const place = join(folder, 'node_modules/@types/node')
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(types, place)
  const lines = entries().map((name, i) => `export * as e${i} from 'node-tensorrt${name.slice(1)}'\n`)
  writeFileSync(join(folder, 'all.mts'), lines.join(''))
  const compilerOptions = { ...guideOptions(), skipLibCheck: false, noEmit: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['all.mts'] }))
  const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
  const said = await run(process.execPath, [tsc, '-p', 'tsconfig.json', '--pretty', 'false'], folder).catch(
    (error: unknown) => {
      const { stdout, message } = error as Error & { stdout?: string }
      return stdout || message
    },
  )
  const { version } = JSON.parse(readFileSync(join(types, 'package.json'), 'utf8')) as { version: string }
  return { version, said }
}
