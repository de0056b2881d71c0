// @ts-check
// npm run lint [-- --fix]: prettier, clang-format, the types of the scripts, cycles of imports, the lengths of files
// and functions, the API reference, eslint, hadolint. All of them are run, then it fails if one did.
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { argv, env, execPath } from 'node:process'
import { ensureHadolint } from './hadolint.mjs'
import { atOnce, bin, cacheFolder, collect, Failure, filesUnder, main, root, say, tsc } from './support.mjs'

const fix = argv.includes('--fix')
const prettierFiles = [
  '{lib,test,examples,bench,scripts,docker}/**/*.{ts,mjs,js,json}',
  'docker/*.yaml',
  '*.{json,mjs}',
  '.prettierrc.json',
]

const cppFiles = () =>
  ['native', 'test/fake', 'test/native']
    .flatMap((folder) => filesUnder(join(root, folder)))
    .filter((path) => /\.(cc|h|inc)$/.test(path))
    .map((path) => relative(root, path))

/** By the content of the files; in the user's cache, one for each checkout, as prettier forgets files that are gone. */
const prettierCache = join(
  cacheFolder(),
  `prettier-${createHash('sha256').update(root).digest('hex').slice(0, 16)}.json`,
)

/** @type {[string, string, string[]][]} the longest first */
const checks = [
  ['eslint', bin('eslint'), [...(fix ? ['--fix'] : []), '--max-warnings=0', '.']],
  [
    'prettier',
    bin('prettier'),
    [
      ...[fix ? '--write' : '--check', '--log-level=warn', '--no-error-on-unmatched-pattern'],
      ...['--cache', '--cache-strategy=content', `--cache-location=${prettierCache}`],
      ...prettierFiles,
    ],
  ],
  ['docs', execPath, [join(root, 'scripts', 'docs.mjs'), '--check']],
  ['tsc', execPath, [tsc, '-p', join(root, 'scripts')]],
  ['lengths', execPath, [join(root, 'scripts', 'count-lines.mjs'), '--check']],
  ['cycles', execPath, [join(root, 'scripts', 'cycles.mjs')]],
]
const cpp = cppFiles()
if (cpp.length > 0)
  checks.push([
    'clang-format',
    bin('clang-format'),
    [...(fix ? ['-i'] : ['--dry-run', '--Werror']), '--style=file', ...cpp],
  ])

/** Where it cannot be fetched, only CI insists on it. */
const addHadolint = async () => {
  const { path, reason } = await ensureHadolint()
  const folder = join(root, 'docker')
  const files = readdirSync(folder).filter((name) => name.startsWith('Dockerfile'))
  if (path)
    checks.push([
      'hadolint',
      path,
      ['--config', join(folder, '.hadolint.yaml'), ...files.map((name) => join(folder, name))],
    ])
  else if (env['CI']) throw new Failure(`lint: ${reason}`)
  else say(`lint: no Dockerfile is checked: ${reason}`)
}

await main(async () => {
  await addHadolint()
  const check = async (/** @type {[string, string, string[]]} */ [name, command, args]) => {
    const { code, output } = await collect(command, args)
    if (code !== 0) say(output.trimEnd())
    return code === 0 ? undefined : name
  }
  // two that write would write the same files; then prettier is the last that does
  const order = fix ? checks.toSorted(([a], [b]) => Number(a === 'prettier') - Number(b === 'prettier')) : checks
  const found = await atOnce(order, check, fix ? 1 : Math.min(4, Math.max(2, availableParallelism())))
  const failed = found.filter((name) => name !== undefined)
  if (failed.length > 0)
    throw new Failure(`lint: ${failed.join(', ')} failed${fix ? '' : '; npm run lint -- --fix mends what it can'}`)
  say(`lint: ${checks.map(([name]) => name).join(', ')} found nothing`)
})
