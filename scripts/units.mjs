// @ts-check
// node scripts/units.mjs FOLDER [--separate]: what the compiler is given of native/, from native/build.json, for
// CMakeLists.txt and for binding.gyp. Each room is one file that includes the room's, written into FOLDER, so that
// headers are read once a room; a large room is several. Those that are built for a level of the processor stay apart.
// `optimize` names the files of another level of optimization than cflags: loops over pixels for speed, what no
// inference waits for, size. Prints their paths, from the working directory; with --separate, or
// NODE_TENSORRT_SEPARATE=1, those of each file by itself.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/**
 * More files than these are two units: two processors have something to do, and an edited file compiles in half the
 * time.
 */
const mostFiles = 20

/** GCC's, as is the compiler of what is shipped; a build with a sanitizer has a level of its own. */
const optimized = (/** @type {string} */ level) =>
  '#if defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)\n' +
  `#pragma GCC optimize("${level}")\n#endif\n`

/**
 * @type {{ sources: string[], apart: string[], optimize: Record<string, string[]> }} files; of `optimize`, folders too
 */
const { sources, apart, optimize } = JSON.parse(readFileSync(join(root, 'native', 'build.json'), 'utf8'))

/** For `npm run bench -- builds --older`, which holds what is shipped against a build with none of these levels. */
const oneLevel = env['NODE_TENSORRT_ONE_LEVEL'] === '1'

/** @returns {string | undefined} the level of optimization that a file has instead of the usual one */
const levelOf = (/** @type {string} */ path) =>
  oneLevel
    ? undefined
    : Object.keys(optimize).find((level) =>
        optimize[level]?.some((each) => path === each || (each.endsWith('/') && path.startsWith(each))),
      )

/** @returns {string[]} the paths of the units, and of what stays apart */
const written = (/** @type {string} */ folder) => {
  const together = sources.filter((path) => !apart.includes(path))
  const rooms = [...new Set(together.map((path) => path.split('/')[1] ?? ''))]
  const units = rooms.flatMap((room) => {
    const paths = together.filter((path) => path.startsWith(`native/${room}/`))
    const levels = [...new Set(paths.map(levelOf))]
    return levels.flatMap((level) =>
      parts(paths.filter((path) => levelOf(path) === level)).map((part, i) => {
        const name = level === undefined ? `${i + 1}.cc` : `${level}-${i + 1}.cc`
        return unitOf(join(folder, room, name), part, level)
      }),
    )
  })
  return [...units, ...apart]
}

/** @returns {string[]} each file by itself; one with a level of its own in a unit that has its name */
const alone = (/** @type {string} */ folder) =>
  sources.map((path) => {
    const level = apart.includes(path) ? undefined : levelOf(path)
    return level === undefined ? path : unitOf(join(folder, path), [path], level)
  })

/** @returns {string} the path of the unit, from the working directory */
const unitOf = (/** @type {string} */ unit, /** @type {string[]} */ paths, /** @type {string | undefined} */ level) => {
  const includes = paths.map((path) => `#include "${path}"\n`)
  writeIfNew(unit, (level === undefined ? '' : optimized(level)) + includes.join(''))
  return relative('.', unit)
}

/** @returns {string[][]} the list in as few parts as hold no more than that many each */
const parts = (/** @type {string[]} */ paths) => {
  const count = Math.ceil(paths.length / mostFiles)
  return Array.from({ length: count }, (_, i) =>
    paths.slice(Math.round((i * paths.length) / count), Math.round(((i + 1) * paths.length) / count)),
  )
}

/** A file that says what it said before is left alone, and so is its object. */
const writeIfNew = (/** @type {string} */ path, /** @type {string} */ text) => {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const separate = argv.includes('--separate') || env['NODE_TENSORRT_SEPARATE'] === '1'
console.log((separate ? alone : written)(argv[2] ?? '').join('\n'))
