// @ts-check
// The gate on the coverage of lib/: lines of code only (comments, blank lines and types can't run), and files that no
// test loaded count as not covered at all. Read from what V8 itself counts in each process of a run (NODE_V8_COVERAGE).
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decodedMappings, TraceMap } from '@jridgewell/trace-mapping'
import ts from 'typescript'
import { Failure, filesUnder, root } from './support.mjs'

const least = 95
const generated = [
  'lib/onnx/onnx_pb.ts',
  ...['grpc_service', 'health', 'model_config'].map((name) => `lib/kserve/messages/${name}_pb.ts`),
]

/**
 * @typedef {object} FileCoverage
 * @property {string} file
 * @property {number} lines that hold code
 * @property {number} covered
 * @property {number[]} missed line numbers
 */

/**
 * @typedef {{ url: string, functions: { ranges: { startOffset: number, endOffset: number, count: number }[] }[] }}
 * Script as V8 tells of it
 */

/** Of each file of dist/lib that was loaded, which characters ran: 1. */
const ran = /** @type {Map<string, Uint8Array>} */ (new Map())
const built = join(root, 'dist', 'lib')

/** For one test file: `env` makes its processes count, `keep` adds what they counted, once they have ended. */
export const takeCoverage = () => {
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-coverage-'))
  const keep = () => {
    for (const name of readdirSync(folder)) readCounts(join(folder, name)).forEach(addScript)
    rmSync(folder, { recursive: true, force: true })
  }
  return { env: { NODE_V8_COVERAGE: folder }, keep }
}

/** @returns {Script[]} none of a process that was killed while it wrote them */
const readCounts = (/** @type {string} */ path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).result
  } catch {
    return []
  }
}

const addScript = (/** @type {Script} */ { url, functions }) => {
  if (!url.startsWith('file://')) return
  const path = fileURLToPath(url)
  if (!path.startsWith(built) || !existsSync(path)) return
  const all = ran.get(path) ?? new Uint8Array(readFileSync(path, 'utf8').length)
  ran.set(path, all)
  const here = new Uint8Array(all.length)
  // From the outside to the inside: a block says otherwise than what is around it.
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges) here.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  for (let i = 0; i < all.length; i++) if (here[i]) all[i] = 1
}

/** @returns {Set<number>} the lines of a source of which something ran */
const linesRun = (/** @type {string} */ source) => {
  /** @type {Set<number>} */
  const lines = new Set()
  const path = join(root, 'dist', relative(root, source).replace(/\.ts$/, '.js'))
  const characters = ran.get(path)
  if (!characters) return lines
  const text = readFileSync(path, 'utf8').split('\n')
  let start = 0
  for (const [index, segments] of decodedMappings(new TraceMap(readFileSync(`${path}.map`, 'utf8'))).entries()) {
    const length = text[index]?.length ?? 0
    for (const [i, segment] of segments.entries()) {
      const line = segment[2]
      if (line === undefined) continue
      const end = segments[i + 1]?.[0] ?? length
      if (characters.subarray(start + segment[0], start + end).includes(1)) lines.add(line + 1)
    }
    start += length + 1
  }
  return lines
}

/** @returns {FileCoverage[]} */
const measure = () =>
  filesUnder(join(root, 'lib'))
    .filter(
      (source) => source.endsWith('.ts') && !source.endsWith('.d.ts') && !generated.includes(relative(root, source)),
    )
    .sort()
    .map((source) => {
      const run = linesRun(source)
      const code = codeLines(source)
      const missed = code.filter((line) => !run.has(line))
      return { file: relative(root, source), lines: code.length, covered: code.length - missed.length, missed }
    })
    .filter(({ lines }) => lines > 0)
/** The numbers of the lines that hold a token of something that exists at run time. */
const codeLines = (/** @type {string} */ path) => {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  /** @type {Set<number>} */
  const lines = new Set()
  const visit = (/** @type {ts.Node} */ node) => {
    if (onlyTypes(node)) return
    const children = node.getChildren(source)
    if (children.length > 0) return children.forEach(visit)
    if (node.getWidth(source) === 0) return
    const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line
    const last = source.getLineAndCharacterOfPosition(node.getEnd()).line
    for (let line = first; line <= last; line++) lines.add(line + 1)
  }
  visit(source)
  return [...lines].sort((a, b) => a - b)
}

const onlyTypes = (/** @type {ts.Node} */ node) =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isTypeNode(node) ||
  ts.isJSDoc(node) ||
  (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) ||
  (ts.isExportDeclaration(node) && node.isTypeOnly) ||
  // An overload's or an abstract method's signature.
  ((ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isConstructorDeclaration(node)) && !node.body)

/** Prints the table of this run, and throws where the gate is missed or nothing was measured. */
export const checkCoverage = () => {
  const files = measure()
  const loaded = files.filter(({ covered }) => covered > 0)
  if (loaded.length === 0) throw new Failure('coverage: no file of lib/ was seen; nothing was measured')
  const width = Math.max(...files.map(({ file }) => file.length))
  console.log(`\n${'coverage of lines of code'.padEnd(width)}   lines       %   not covered`)
  for (const file of files) console.log(row(file.file, file, width, ranges(file.missed)))
  const total = { lines: sum(files.map(({ lines }) => lines)), covered: sum(files.map(({ covered }) => covered)) }
  console.log(row('lib/', total, width, `the gate is ${least} %`))
  if (total.covered * 100 < total.lines * least) throw new Failure(`coverage: lib/ is below ${least} % of lines`)
}

/**
 * @param {string} name
 * @param {{ lines: number, covered: number }} count
 * @param {number} width
 * @param {string} note
 */
const row = (name, { lines, covered }, width, note) => {
  // Rounded down: 100.0 is said of nothing that lacks a line.
  const percent = (Math.floor((covered * 1000) / lines) / 10).toFixed(1)
  return `${name.padEnd(width)} ${String(lines).padStart(7)} ${percent.padStart(7)}   ${note}`.trimEnd()
}

const sum = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0)

/** 3, 4, 5, 9 as '3-5 9', at most a dozen of them. */
const ranges = (/** @type {number[]} */ lines) => {
  /** @type {[number, number][]} */
  const found = []
  for (const line of lines) {
    const last = found.at(-1)
    if (last && last[1] === line - 1) last[1] = line
    else found.push([line, line])
  }
  const texts = found.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`))
  return texts.length > 12 ? `${texts.slice(0, 12).join(' ')} …` : texts.join(' ')
}
