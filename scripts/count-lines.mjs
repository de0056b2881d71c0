// @ts-check
// node scripts/count-lines.mjs [--json | --check]: lines of code by room of lib/ and native/, without comments, blank
// lines, tables of facts and generated files. Named, and with --check an error: files above 400 lines (of lib/ of code,
// since docstrings are the reference) and functions above 60 lines of code.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv, exit } from 'node:process'
import ts from 'typescript'
import { root } from './support.mjs'

const mostOfFile = 400
const mostOfFunction = 60

/** Made by the protobuf compiler. */
const generated = /(^lib\/onnx\/onnx_pb|_pb)\.ts$/
/** Rows of what others have decided: names, numbers, vtables, operators. */
const facts =
  /\.def$|^lib\/onnx\/(check\/attributes|precision\/operators|opset)\.ts$|^lib\/(backend\/facts|tasks\/imagenet)\.ts$/

/** @typedef {{ code: number, comments: number, functions: { name: string, line: number, lines: number }[] }} Counted */

/** @returns {Counted} of TypeScript: lines that a token touches; what is left and not blank is comment */
function countTypeScript(/** @type {string} */ path, /** @type {string} */ text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lineOf = (/** @type {number} */ position) => source.getLineAndCharacterOfPosition(position).line
  /** @type {Set<number>} */
  const lines = new Set()
  /** @type {Counted['functions']} */
  const functions = []
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isJSDoc(node)) return
    const children = node.getChildren(source)
    if (children.length === 0 && node.getWidth(source) > 0)
      for (let line = lineOf(node.getStart(source)); line <= lineOf(node.getEnd()); line++) lines.add(line)
    children.forEach(visit)
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return
    const [from, to] = [lineOf(node.getStart(source)), lineOf(node.getEnd())]
    let count = 0
    for (let line = from; line <= to; line++) count += Number(lines.has(line))
    const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined)
    functions.push({ name: named?.getText(source) ?? 'a function', line: from + 1, lines: count })
  }
  visit(source)
  return { code: lines.size, comments: inhabited(text) - lines.size, functions }
}

/** @returns {Counted} of C++ that clang-format has laid out: a function's last brace stands below its first sign */
function countCpp(/** @type {string} */ _path, /** @type {string} */ text) {
  const bare = text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*|"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'/g, (found) =>
    found.startsWith('/') ? found.replace(/[^\n]/g, '') : found,
  )
  const rows = bare.split('\n')
  /** @type {Counted['functions']} */
  const functions = []
  rows.forEach((row, i) => {
    const [, indent = '', rest = ''] = /^(\s*)(.*)$/.exec(row) ?? []
    if (!/\)[^;(]*\{$/.test(rest) || /^(if|for|while|switch|else|do|catch|\}|namespace|struct|class)\b/.test(rest))
      return
    const name = rest.replace(/\(.*/, '').split(' ').at(-1) ?? ''
    if (name.endsWith('_')) return // the last of a list of initializers
    const end = rows.findIndex((other, k) => k > i && other.startsWith(`${indent}}`))
    const body = rows.slice(i, end + 1).filter((other) => other.trim() !== '')
    functions.push({ name, line: i + 1, lines: body.length })
  })
  const code = rows.filter((row) => row.trim() !== '').length
  return { code, comments: inhabited(text) - code, functions }
}

const inhabited = (/** @type {string} */ text) => text.split('\n').filter((line) => line.trim() !== '').length

/** lib/engine.ts and lib/engine/ are one room; `native/` has folders alone. */
const roomOf = (/** @type {string} */ path) => path.split('/').slice(0, 2).join('/').replace(/\.ts$/, '')

const paths = execFileSync('git', ['ls-files', 'lib', 'native'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => /\.(ts|cc|h|inc|def)$/.test(path) && !generated.test(path))

/** @type {Map<string, { room: string, files: number, code: number, comments: number, facts: number }>} */
const rooms = new Map()
/** @type {{ path: string, lines: number }[]} */
const longFiles = []
/** @type {{ path: string, name: string, lines: number }[]} */
const longFunctions = []
for (const path of paths) {
  const text = readFileSync(join(root, path), 'utf8')
  const { code, comments, functions } = (path.endsWith('.ts') ? countTypeScript : countCpp)(path, text)
  const room = rooms.get(roomOf(path)) ?? { room: roomOf(path), files: 0, code: 0, comments: 0, facts: 0 }
  room.files++
  if (facts.test(path)) room.facts += code
  else room.code += code
  room.comments += comments
  rooms.set(room.room, room)
  const length = path.startsWith('lib/') ? code : text.split('\n').length - 1
  if (length > mostOfFile && !facts.test(path)) longFiles.push({ path, lines: length })
  for (const { name, line, lines } of functions)
    if (lines > mostOfFunction) longFunctions.push({ path: `${path}:${line}`, name, lines })
}

const table = [...rooms.values()].sort((a, b) => a.room.localeCompare(b.room))
const sum = (/** @type {string} */ folder) =>
  table
    .filter(({ room }) => room.startsWith(folder))
    .reduce(
      (all, { files, code, comments, facts: rows }) => ({
        room: folder,
        files: all.files + files,
        code: all.code + code,
        comments: all.comments + comments,
        facts: all.facts + rows,
      }),
      { room: folder, files: 0, code: 0, comments: 0, facts: 0 },
    )
const result = { rooms: [...table, sum('lib/'), sum('native/')], longFiles, longFunctions }
if (argv.includes('--json')) console.log(JSON.stringify(result, null, 2))
else {
  if (!argv.includes('--check')) printRooms()
  for (const { path, lines } of longFiles) console.log(`${path}: ${lines} lines`)
  for (const { path, name, lines } of longFunctions) console.log(`${path}: ${name} has ${lines} lines of code`)
  if (argv.includes('--check')) exit(Math.min(1, longFiles.length + longFunctions.length))
}

function printRooms() {
  const row = (/** @type {readonly (string | number)[]} */ cells) =>
    console.log(
      `| ${String(cells[0]).padEnd(24)} | ${cells
        .slice(1)
        .map((cell) => String(cell).padStart(8))
        .join(' | ')} |`,
    )
  row(['room', 'files', 'code', 'comments', 'facts'])
  row(['---', '---:', '---:', '---:', '---:'])
  for (const { room, files, code, comments, facts: rows } of result.rooms) row([room, files, code, comments, rows])
}
