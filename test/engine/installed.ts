import { copyFileSync, cpSync, linkSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * Puts the package into the node_modules of a folder outside of this repository, whose own node_modules would be found:
 * with what it cannot be imported without, and with its addon if that is wanted. Its files are those of dist/lib, so a
 * test must not write to them. Returns where it is.
 */
export function installPackage(folder: string, { addon }: { addon: boolean }): string {
  const modules = join(folder, 'node_modules')
  const installed = join(modules, 'node-tensorrt')
  linkFiles(join(root, 'dist/lib'), join(installed, 'dist/lib'))
  cpSync(join(root, 'commonjs'), join(installed, 'commonjs'), { recursive: true })
  copyFileSync(join(root, 'package.json'), join(installed, 'package.json'))
  if (addon) symlinkSync(join(root, 'build'), join(installed, 'build'))
  for (const name of ['@bufbuild/protobuf', 'node-gyp-build']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  return installed
}

/** Links all files of a folder except source maps: thousands of files of 16 MB, which would be copied for each test. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkFiles(source, target)
    else if (!entry.name.endsWith('.map')) linkFile(source, target)
  }
}

function linkFile(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    copyFileSync(from, to) // for example to another file system
  }
}
