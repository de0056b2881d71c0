import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * The package in the node_modules of a folder outside of this repository, whose own node_modules would be found: with
 * what it cannot be imported without, and with its addon if that is wanted. Returns where it is.
 */
export function installPackage(folder: string, { addon }: { addon: boolean }): string {
  const modules = join(folder, 'node_modules')
  const installed = join(modules, 'node-tensorrt')
  cpSync(join(root, 'dist/lib'), join(installed, 'dist/lib'), { recursive: true })
  cpSync(join(root, 'commonjs'), join(installed, 'commonjs'), { recursive: true })
  cpSync(join(root, 'package.json'), join(installed, 'package.json'))
  if (addon) symlinkSync(join(root, 'build'), join(installed, 'build'))
  for (const name of ['@bufbuild/protobuf', 'node-gyp-build']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  return installed
}
