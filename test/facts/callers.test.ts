// Every row of the tables of functions and enumerators has a caller in native/: a row that nobody needs would refuse
// libraries that lack it.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import t from 'tap'
import { root } from '../fake/build.js'

const read = (...path: string[]): string => readFileSync(join(root, 'native', ...path), 'utf8')
const code = readdirSync(join(root, 'native'), { recursive: true, encoding: 'utf8' })
  .filter((path) => ['.cc', '.h', '.inc'].includes(extname(path)) || path === join('base', 'dtype.def'))
  .map((path) => read(path).replaceAll(/\/\/.*/g, ''))
  .join('\n')

interface Table {
  readonly file: readonly [string, string]
  readonly row: RegExp
  /** What stands in the code for a row of these words. */
  readonly caller: (first: string, second: string) => string
}
const tables: readonly Table[] = [
  { file: ['cuda', 'functions.def'], row: /^CUDA_FUNCTION\((\w+),/gm, caller: (name) => name },
  { file: ['onnxruntime', 'functions.def'], row: /^ORT_FUNCTION\(\d+, \d+, (\w+),/gm, caller: (name) => name },
  {
    file: ['tensorrt', 'methods.def'],
    row: /^TRT_METHOD\((\w+), (\w+),/gm,
    caller: (type, method) => `Method::${type}_${method}`,
  },
  {
    file: ['tensorrt', 'enums.def'],
    row: /^TRT_ENUM\((\w+), (\w+),/gm,
    // some enumerations are only read, by name
    caller: (type, name) => `(${type}_${name}|enumName[(]"${type})`,
  },
]

for (const { file, row, caller } of tables) {
  t.test(file.join('/'), (t) => {
    const rows = [...read(...file).matchAll(row)].map(([, first = '', second = '']) => [first, second] as const)
    t.ok(rows.length > 10, 'it has rows')
    const idle = rows.filter((words) => !new RegExp(String.raw`\b${caller(...words)}\b`).test(code))
    t.same(idle, [], 'each has a caller')
    t.end()
  })
}
