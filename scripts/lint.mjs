// @ts-check
// npm run lint [-- --fix]: prettier, clang-format, the types of the scripts, cycles of imports, the lengths of files
// and functions, the API reference, eslint, hadolint. All of them are run, then it fails if one did.
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv, env, execPath } from 'node:process'
import { ensureHadolint } from './hadolint.mjs'
import { atOnce, bin, collect, Failure, filesUnder, main, root, say, tsc } from './support.mjs'

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

/** @type {[string, string, string[]][]} */
const checks = [
  [
    'prettier',
    bin('prettier'),
    [fix ? '--write' : '--check', '--log-level=warn', '--no-error-on-unmatched-pattern', ...prettierFiles],
  ],
  ['tsc', execPath, [tsc, '-p', join(root, 'scripts')]],
  ['cycles', execPath, [join(root, 'scripts', 'cycles.mjs')]],
  ['lengths', execPath, [join(root, 'scripts', 'count-lines.mjs'), '--check']],
  ['docs', execPath, [join(root, 'scripts', 'docs.mjs'), '--check']],
  ['eslint', bin('eslint'), [...(fix ? ['--fix'] : []), '--max-warnings=0', '.']],
]
const cpp = cppFiles()
if (cpp.length > 0)
  checks.splice(1, 0, [
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
  // two that mend would write the same files
  const found = await atOnce(checks, check, fix ? 1 : 2)
  const failed = found.filter((name) => name !== undefined)
  if (failed.length > 0)
    throw new Failure(`lint: ${failed.join(', ')} failed${fix ? '' : '; npm run lint -- --fix mends what it can'}`)
  say(`lint: ${checks.map(([name]) => name).join(', ')} found nothing`)
})
