// @ts-check
// Part of npm run lint: no file of lib/ imports itself, by whatever way round; types and import() count. A room of
// native/ includes only rooms that stand in lower layers.
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { Failure, filesUnder, main, root } from './support.mjs'

/** The files that a file imports. */
const importsOf = (/** @type {string} */ file) =>
  ts
    .preProcessFile(readFileSync(file, 'utf8'))
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => resolve(dirname(file), fileName.replace(/\.js$/, '.ts')))

/** The rooms of native/, the lowest layer first. */
const layers = [
  ['base', 'vision'],
  ['cuda', 'execution', 'onnxruntime', 'tensorrt', 'video'],
  ['building', 'cpu', 'finding', 'gpu'],
  ['node'],
]
const layerOf = (/** @type {string} */ room) => layers.findIndex((rooms) => rooms.includes(room))

const checkRooms = () => {
  for (const file of filesUnder(join(root, 'native'))) {
    const [room, ...rest] = relative(join(root, 'native'), file).split('/')
    if (room === undefined || rest.length === 0) continue
    if (layerOf(room) < 0) throw new Failure(`native/${room} has no layer in scripts/cycles.mjs`)
    for (const [, other = ''] of readFileSync(file, 'utf8').matchAll(/^#include "\.\.\/(\w+)\//gm))
      if (layerOf(other) >= layerOf(room)) throw new Failure(`${relative(root, file)} includes a file of ${other}/`)
  }
}

await main(async () => {
  /** @type {Map<string, 'open' | 'done'>} */
  const seen = new Map()
  /** @type {string[]} */
  const way = []
  const visit = (/** @type {string} */ file) => {
    if (seen.get(file) === 'done') return
    if (seen.get(file) === 'open') {
      const round = [...way.slice(way.indexOf(file)), file].map((path) => relative(root, path))
      throw new Failure(`files that import each other: ${round.join(' → ')}`)
    }
    seen.set(file, 'open')
    way.push(file)
    for (const imported of importsOf(file)) visit(imported)
    way.pop()
    seen.set(file, 'done')
  }
  for (const file of filesUnder(join(root, 'lib'))) if (file.endsWith('.ts')) visit(file)
  checkRooms()
})
