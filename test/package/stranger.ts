// What a stranger gets: a folder outside of the project, where its own node_modules cannot be found, with the package
// installed from its tarball.
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processFolder } from '../support/folders.js'
import { installed } from '../support/needs.js'
import { root, run } from './support.js'

export const target = `${process.platform}-${process.arch}`
export const hasAddon = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)

export interface Stranger {
  readonly folder: string
  /** Where the package was installed. */
  readonly installed: string
  /** The tarball, of so many bytes, and what it holds. */
  readonly tarball: string
  readonly bytes: number
  readonly paths: readonly string[]
  /** Writes a file into the folder and runs it; tells what it printed. */
  readonly program: (name: string, text: string) => Promise<string>
}

/** Packs what is here, as it is published, into a folder; tells the tarball. Without the addon none is compiled. */
export async function packed(folder: string, { addon }: { addon: boolean }): Promise<string> {
  const options = ['--to', folder, ...(addon ? [] : ['--without-addon'])]
  return (await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), ...options], root)).trim()
}

/** Packs and installs the package. Call it before the first test: without the npm registry the file is skipped. */
export async function stranger({ addon }: { addon: boolean }): Promise<Stranger> {
  const folder = processFolder()
  const tarball = await packed(folder, { addon })
  const files = (await run('tar', ['-tzf', tarball], root))
    .split('\n')
    .filter((path) => path !== '' && !path.endsWith('/'))
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "version": "1.0.0", "private": true }')
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await installed(run('npm', ['install', tarball, '--ignore-scripts', ...quietly], folder))
  return {
    folder,
    installed: join(folder, 'node_modules', 'node-tensorrt'),
    tarball,
    bytes: statSync(tarball).size,
    paths: files.map((path) => path.replace(/^package\//, '')),
    program: (name, text) => {
      writeFileSync(join(folder, name), text)
      return run(process.execPath, ['--no-warnings', name], folder)
    },
  }
}
