/** The copies of onnxruntime-common that an app has: each keeps backends, and has classes, of its own. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

const name = 'onnxruntime-common'

/** An installed package onnxruntime-common. */
export interface CommonPackage {
  readonly folder: string
  readonly version: string
  /** The files of its modules, which are two instances: the one that `require` gives, and the one of `import`. */
  readonly modules: readonly string[]
}

/**
 * The packages onnxruntime-common in the folders `node_modules` that modules in these folders look into, those that
 * belong to other packages in there among them (nested ones, and pnpm's); each once, by its real path.
 */
export function commonPackages(folders: readonly string[]): CommonPackage[] {
  const seen = new Set<string>()
  const found: string[] = []
  for (const folder of folders)
    for (let at = realPath(folder); at !== undefined; at = dirname(at) === at ? undefined : dirname(at))
      visit(join(at, 'node_modules'), seen, found)
  return found.map(described)
}

/** Puts the folders of the package under this `node_modules` into `found`. */
function visit(modules: string, seen: Set<string>, found: string[]): void {
  const real = realPath(modules)
  if (real === undefined || seen.has(real)) return
  seen.add(real)
  for (const entry of packagesIn(real)) {
    const folder = realPath(join(real, entry))
    if (folder === undefined) continue
    if (entry !== name) visit(join(folder, 'node_modules'), seen, found)
    else if (!found.includes(folder)) found.push(folder)
  }
}

/** The entries of a `node_modules` that are packages, or have some below; scoped ones as "@scope/name". */
function packagesIn(modules: string): string[] {
  return namesIn(modules).flatMap((entry) => {
    if (entry.startsWith('@')) return namesIn(join(modules, entry)).map((below) => join(entry, below))
    if (entry !== '.pnpm') return entry.startsWith('.') ? [] : [entry]
    const stored = namesIn(join(modules, entry)).filter((store) => store.startsWith(`${name}@`))
    return stored.map((store) => join(entry, store))
  })
}

interface Manifest {
  readonly version?: string
  readonly main?: string
  readonly exports?: { readonly require?: unknown; readonly import?: unknown }
}

function described(folder: string): CommonPackage {
  const { version, main, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const files = [exports?.require ?? main, exports?.import].filter((file) => typeof file === 'string')
  return { folder, version: version ?? '', modules: files.map((file) => join(folder, file)) }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // none, or a file
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
