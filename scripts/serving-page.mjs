// @ts-check
// node scripts/serving-page.mjs [--check]: the tables of docs/serving.md, each between its two marks, made of lib/serve
// (as it was compiled: after npm run build) and of what differs from the answers of a real Triton. --check writes
// nothing, and fails where the page has another text.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { Failure, main, root, say } from './support.mjs'

const page = join(root, 'docs', 'serving.md')
const uses = { used: 'used', ignored: 'no effect', refused: 'refused' }

const compiled = async (/** @type {string} */ name) => {
  const file = join(root, 'dist', 'lib', 'serve', ...name.split('/'))
  if (!existsSync(file)) throw new Failure('dist is missing: run npm run build first')
  return await import(pathToFileURL(file).href)
}

const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

const table = (/** @type {string[]} */ head, /** @type {string[][]} */ rows) => [
  `| ${head.join(' | ')} |`,
  `|${head.map(() => '---|').join('')}`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
]

const sentence = (/** @type {string} */ text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Groups have a heading each. */
const flags = async () => {
  /** @type {typeof import('../lib/serve/flags.js')} */
  const { flagRules } = await compiled('flags.js')
  const groups = [...new Set(flagRules.map(({ group }) => group))]
  return groups.flatMap((group) => {
    const rows = flagRules
      .filter((rule) => rule.group === group)
      .map(({ name, use, about, fallback, isOurs, accepted }) => [
        `\`--${name}\`${isOurs ? ' (not in Triton)' : ''}`,
        `${uses[use]}${accepted ? `, but for \`${accepted.join('`, `')}\`` : ''}`,
        `${sentence(about)}${fallback === undefined ? '' : ` (default: ${fallback})`}`,
      ])
    return [`### ${group}`, '', ...table(['flag', 'use', 'what it does, or why not'], rows), '']
  })
}

const fields = async () => {
  /** @type {typeof import('../lib/serve/config/fields.js')} */
  const { fieldRules } = await compiled('config/fields.js')
  const rows = fieldRules.map(({ path, use, about }) => [`\`${path}\``, uses[use], sentence(about)])
  return [...table(['field', 'use', 'how, why, or what to do instead'], rows), '']
}

const metrics = async () => {
  /** @type {typeof import('../lib/serve/operations/metrics.js')} */
  const { modelMetrics } = await compiled('operations/metrics.js')
  return [
    ...table(
      ['metric', 'kind', 'Triton’s text'],
      modelMetrics.map(({ name, kind, help }) => [`\`${name}\``, kind.toLowerCase(), help]),
    ),
    '',
  ]
}

/** The reasons, each with what it is about: the names of the first requests or configs that differ for it. */
const differences = async () => {
  const file = join(root, 'test', 'serve', 'recorded', 'differences.json')
  /**
   * @type {Record<'requests' | 'configs' | 'calls' | 'ensembleRequests' | 'ensembleCalls' | 'ensembleConfigs', {
   * reason: string, ours: Record<string, unknown> }[]> & { types: { reason: string, theirs: string, ours: string }[],
   * logged?: string }}
   */
  const { types, logged, requests, ...others } = JSON.parse(readFileSync(file, 'utf8'))
  const rowsOf = (/** @type {typeof requests} */ list) =>
    list.map(({ reason, ours }) => {
      const names = Object.keys(ours)
      return [
        reason,
        `${names
          .slice(0, 2)
          .map((name) => `\`${name.replaceAll('`', "'")}\``)
          .join(', ')}${names.length > 2 ? ` and ${names.length - 2} more` : ''}`,
      ]
    })
  const general = [
    ...types.map(({ reason, theirs, ours }) => [reason, `\`${theirs}\` becomes \`${ours}\``]),
    ...(logged === undefined ? [] : [[logged, 'loads']]),
  ]
  return [
    ...table(['difference, and its reason', 'requests of the record'], [...general, ...rowsOf(requests)]),
    '',
    ...Object.entries(recorded).flatMap(([list, what]) => [
      ...table(
        ['difference, and its reason', `${what} of the record`],
        rowsOf(others[/** @type {keyof typeof others} */ (list)]),
      ),
      '',
    ]),
  ]
}

/** The other lists of differences, by what they are of. */
const recorded = {
  configs: 'configs',
  calls: 'calls over gRPC',
  ensembleRequests: 'requests of ensembles',
  ensembleCalls: 'calls of ensembles over gRPC',
  ensembleConfigs: 'configs of ensembles',
}

const parts = { flags, fields, metrics, differences }

await main(async () => {
  const before = readFileSync(page, 'utf8')
  let after = before
  for (const [name, make] of Object.entries(parts)) {
    const [begin, end] = [`<!-- made by scripts/serving-page.mjs: ${name} -->\n`, `<!-- the end of ${name} -->`]
    const [from, to] = [after.indexOf(begin), after.indexOf(end)]
    if (from < 0 || to < from) throw new Failure(`${page} lacks the two marks of ${name}: ${begin.trim()} ${end}`)
    after = `${after.slice(0, from)}${begin}\n${(await make()).join('\n')}\n${after.slice(to)}`
  }
  if (after === before) return
  if (argv.includes('--check'))
    throw new Failure('docs/serving.md is not what its sources make: run node scripts/serving-page.mjs')
  writeFileSync(page, after)
  say('docs/serving.md is written')
})
