// @ts-check
// The files of the kit for a GPU machine: the compiled checks and the benchmark with all that they import, and the
// production modules that these need. For gpu-kit.mjs.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Failure, filesUnder, root } from '../support.mjs'
import { reachedFrom } from '../test-needs.mjs'

/** @typedef {{ from: string, to: string }} Entry a file of this machine, and its path in the kit */
/** @typedef {import('../../dist/test/gpu/programs.js').Program} Program */

/** @typedef {{ name: string, dependencies?: Record<string, string> }} Manifest */

const readManifest = (/** @type {string} */ folder) =>
  /** @type {Manifest} */ (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))

/** @returns {Promise<readonly Program[]>} the checks of test/gpu in their order */
export const checkPrograms = async () => {
  const module = await import(pathToFileURL(join(root, 'dist', 'test', 'gpu', 'programs.js')).href)
  return module.programs
}

/** Packages that a compiled file imports. `isNeeded`: by a statement, without which the file does not load. */
const packagesIn = (/** @type {string} */ text) => {
  const named = (/** @type {RegExp} */ pattern, /** @type {boolean} */ isNeeded) =>
    Array.from(text.matchAll(pattern), ([, specifier = '']) => ({
      name: specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'),
      isNeeded,
    }))
  return [
    ...named(/^(?:import |(?:import|export|\}).*\bfrom )['"]([^.'"/][^'"]*)['"]/gm, true),
    ...named(/\b(?:import|require)\(['"]([^.'"/][^'"]*)['"]\)/g, false),
    ...named(/\brequire\b.*\('(node-gyp-build)'\)/g, false),
  ].filter(({ name }) => !name.startsWith('node:'))
}

/** The folder of a package for who imports it in `from`, as Node finds it. @returns {string} */
const folderOf = (/** @type {string} */ name, /** @type {string} */ from) => {
  const folder = join(from, 'node_modules', name)
  if (existsSync(folder)) return folder
  if (from === root) throw new Failure(`node_modules lacks ${name}: run npm ci`)
  return folderOf(name, dirname(from))
}

/** Adds the folder of a package and those of the packages that it depends on. */
const addPackage = (/** @type {Set<string>} */ folders, /** @type {string} */ name, from = root) => {
  const folder = folderOf(name, from)
  if (folders.has(folder)) return
  folders.add(folder)
  for (const dependency of Object.keys(readManifest(folder).dependencies ?? {})) addPackage(folders, dependency, folder)
}

/**
 * The production packages that some compiled files need. Optional ones, which the files import only when they are used,
 * are left out.
 *
 * @param {Iterable<string>} files
 * @returns {Set<string>} their folders
 */
export const packagesFor = (files) => {
  const production = Object.keys(readManifest(root).dependencies ?? {})
  const folders = /** @type {Set<string>} */ (new Set())
  for (const file of files) {
    for (const { name, isNeeded } of packagesIn(readFileSync(file, 'utf8'))) {
      if (production.includes(name)) addPackage(folders, name)
      else if (isNeeded)
        throw new Failure(
          `${relative(root, file)} imports ${name}, which is no production dependency, so the kit cannot have it`,
        )
    }
  }
  return folders
}

/** Source maps, types, sources, tests and documents are not read when a package runs. */
const isRun = (/** @type {string} */ path) =>
  /(\.[cm]?js|\.json|\.wasm|\/LICENSE[^/]*)$/i.test(path) &&
  !/\/(node_modules|tests?|benchmarks?|docs|examples)\//.test(path)

/** Packages that the package loads by name if they are installed: the server and the sessions of test/gpu need them. */
const peers = ['fastify', 'onnxruntime-common']

/** Files that a compiled file of tests or benches names without a folder: they are beside it, or beside its source. */
const namedBeside = (/** @type {string} */ file) => {
  const path = relative(join(root, 'dist'), file)
  if (path.startsWith('lib')) return []
  return Array.from(readFileSync(file, 'utf8').matchAll(/['"]([\w-]+\.(js|py))['"]/g), ([, name = '', type]) =>
    join(type === 'js' ? dirname(file) : dirname(join(root, path)), name),
  ).filter((named) => existsSync(named))
}

/** The files that some compiled files import, start or name. */
const closure = (/** @type {readonly string[]} */ files) => {
  const found = /** @type {Set<string>} */ (new Set())
  const open = [...files]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    const reached = next.endsWith('.js') ? [...reachedFrom(next)] : [next]
    for (const file of reached) {
      if (file !== next && found.has(file)) continue
      found.add(file)
      if (file.endsWith('.js')) open.push(...namedBeside(file))
    }
  }
  return [...found]
}

/**
 * The checks, the benchmark and what they need.
 *
 * @param {readonly string[]} programs paths of compiled files, relative to the repository
 * @returns {Entry[]}
 */
export const codeEntries = (programs) => {
  const files = closure(programs.map((path) => join(root, path)))
  const folders = packagesFor(files.filter((path) => path.endsWith('.js')))
  for (const name of peers) addPackage(folders, name)
  const packages = [...folders].flatMap((folder) =>
    filesUnder(folder).filter((path) => isRun(`/${relative(folder, path)}`)),
  )
  return [...files, ...packages, join(root, 'package.json')].sort().map((from) => ({ from, to: relative(root, from) }))
}

/** The compiled files that start.py runs, and those that these start by a computed name. */
export const startedFiles = async () => [
  'dist/test/gpu/run.js',
  ...(await checkPrograms()).map(({ file }) => join('dist/test/gpu', file)),
  'dist/bench/gpu.js',
]

/** All files of a folder. @returns {Entry[]} */
export const folderEntries = (/** @type {string} */ folder, /** @type {string} */ to) =>
  filesUnder(folder)
    .sort()
    .map((from) => ({ from, to: join(to, relative(folder, from)) }))
