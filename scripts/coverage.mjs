// @ts-check
// The gate on the coverage of lib/, from the reports that tap leaves: lines of code only (comments, blank lines and types can't run), and
// files that no test loaded count as not covered at all. What a run covered is kept until the gate has looked at the runs together.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { Failure, filesUnder, root } from './support.mjs'

const least = 95
const generated = ['lib/onnx/onnx_pb.ts']

/**
 * @typedef {object} FileCoverage
 * @property {string} file
 * @property {number} lines that hold code
 * @property {number} covered
 * @property {number[]} missed line numbers
 */

/** @typedef {{ build: string, lines: Record<string, number[]> }} Kept what a run of one build covered: numbers of lines by file */

const kept = (/** @type {string} */ tier) => join(root, '.tap', `covered-${tier}.json`)
const build = () => readFileSync(join(root, 'build', 'lib.stamp'), 'utf8')

export const forgetCoverage = () => ['fast', 'slow', 'all'].forEach((tier) => rmSync(kept(tier), { force: true }))

/** Keeps what tap reports of the run that has just ended. */
export const keepCoverage = (/** @type {string} */ tier) => {
  const path = join(root, '.tap/report/coverage-final.json')
  /** @type {Record<string, { statementMap: Record<string, { start: { line: number } }>, s: Record<string, number> }>} */
  const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  const lines = Object.entries(report).map(([file, { statementMap, s }]) => [
    relative(root, file),
    Object.keys(s).flatMap((key) => (s[key] ? [statementMap[key]?.start.line ?? 0] : [])),
  ])
  writeFileSync(kept(tier), JSON.stringify({ build: build(), lines: Object.fromEntries(lines) }))
}

/** @returns {Kept} */
const readKept = (/** @type {string} */ tier) => {
  /** @type {Kept | undefined} */
  const found = existsSync(kept(tier)) ? JSON.parse(readFileSync(kept(tier), 'utf8')) : undefined
  if (found?.build !== build())
    throw new Failure(`coverage: that of the tier '${tier}' is not there, or of another build: run it with --coverage=keep`)
  return found
}

/** @returns {FileCoverage[]} */
const measure = (/** @type {string[]} */ tiers) => {
  const runs = tiers.map(readKept)
  return filesUnder(join(root, 'lib'))
    .filter((source) => source.endsWith('.ts') && !source.endsWith('.d.ts') && !generated.includes(relative(root, source)))
    .sort()
    .map((source) => {
      const ran = new Set(runs.flatMap(({ lines }) => lines[relative(root, source)] ?? []))
      const code = codeLines(source)
      const missed = code.filter((line) => !ran.has(line))
      return { file: relative(root, source), lines: code.length, covered: code.length - missed.length, missed }
    })
    .filter(({ lines }) => lines > 0)
}

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

/** Prints the table of these runs together, and throws where the gate is missed or nothing was measured. */
export const checkCoverage = (/** @type {string[]} */ tiers) => {
  const files = measure(tiers)
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
