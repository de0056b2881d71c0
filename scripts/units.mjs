// @ts-check
// node scripts/units.mjs FOLDER [--separate]: what the compiler is given of native/, from native/build.json, for CMakeLists.txt and for binding.gyp. Each
// room is one file that includes the room's, written into FOLDER, so that headers are read once a room; a large room is several. Those that are built for a
// level of the processor stay apart. Prints their paths, from the working directory; with --separate, or NODE_TENSORRT_SEPARATE=1, those of native/ itself.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** More files than these are two units: two processors have something to do, and an edited file compiles in half the time. */
const mostFiles = 20

/** @type {{ sources: string[], apart: string[] }} */
const { sources, apart } = JSON.parse(readFileSync(join(root, 'native', 'build.json'), 'utf8'))

/** @returns {string[]} the paths of the units, and of what stays apart */
const written = (/** @type {string} */ folder) => {
  const together = sources.filter((path) => !apart.includes(path))
  const rooms = [...new Set(together.map((path) => path.split('/')[1] ?? ''))]
  const units = rooms.flatMap((room) => {
    const paths = together.filter((path) => path.startsWith(`native/${room}/`))
    const count = Math.ceil(paths.length / mostFiles)
    return Array.from({ length: count }, (_, i) => {
      const part = paths.slice(Math.round((i * paths.length) / count), Math.round(((i + 1) * paths.length) / count))
      const unit = join(folder, room, `${i + 1}.cc`)
      writeIfNew(unit, part.map((path) => `#include "${path}"\n`).join(''))
      return relative('.', unit)
    })
  })
  return [...units, ...apart]
}

/** A file that says what it said before is left alone, and so is its object. */
const writeIfNew = (/** @type {string} */ path, /** @type {string} */ text) => {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const separate = argv.includes('--separate') || env['NODE_TENSORRT_SEPARATE'] === '1'
console.log((separate ? sources : written(argv[2] ?? '')).join('\n'))
