// What a stranger gets: a folder outside of the project, where its own node_modules cannot be found, with the package installed from its tarball.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/folders.js'
import { root, run } from './support.js'

export const target = `${process.platform}-${process.arch}`
export const hasAddon = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)

export interface Stranger {
  readonly folder: string
  /** Where the package was installed. */
  readonly installed: string
  /** What the tarball holds. */
  readonly paths: readonly string[]
  /** Writes a file into the folder and runs it; tells what it printed. */
  readonly program: (name: string, text: string) => Promise<string>
}

/** @param ignoreScripts what is there is packed, without `prepack`, which builds it */
export async function stranger(t: { teardown(end: () => void): void }, { ignoreScripts }: { ignoreScripts: boolean }): Promise<Stranger> {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "version": "1.0.0", "private": true }')
  const packed = await run('npm', ['pack', '--json', `--ignore-scripts=${ignoreScripts}`, '--pack-destination', folder], root)
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', `./${filename}`, '--ignore-scripts', ...quietly], folder)
  return {
    folder,
    installed: join(folder, 'node_modules', 'node-tensorrt'),
    paths: files.map(({ path }) => path),
    program: (name, text) => {
      writeFileSync(join(folder, name), text)
      return run(process.execPath, ['--no-warnings', name], folder)
    },
  }
}
