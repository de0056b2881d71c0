// @ts-check
// node scripts/public-names.mjs [--check]: docs/public-names.txt, a line for each name that users write: exports of
// every entry point, what options, classes and results have, and the commands of `trt` with their flags, all as
// compiled (after npm run build). --check writes nothing, and fails where the file says something else.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { Failure, main, root, say } from './support.mjs'

const file = join(root, 'docs', 'public-names.txt')
const cli = join(root, 'dist', 'lib', 'cli')

/** `.` and `./vision`, and the declarations of each. */
function entries() {
  /** @type {{ exports: Record<string, string | { types: string }> }} */
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [{ name, path: join(root, target.types) }],
  )
}

const isInternal = (/** @type {ts.Symbol} */ symbol) =>
  symbol.getJsDocTags().some(({ name }) => name === 'internal') ||
  (symbol.declarations ?? []).some((each) => (ts.getCombinedModifierFlags(each) & ts.ModifierFlags.Private) !== 0)

function namesOfLibrary() {
  const found = entries()
  // without the DOM and other packages' types, which take a second to parse
  const platform = { lib: ['lib.esnext.d.ts'], types: ['node'] }
  const options = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    strict: true,
    noEmit: true,
    ...platform,
  }
  const program = ts.createProgram(
    found.map(({ path }) => path),
    options,
  )
  const checker = program.getTypeChecker()
  /** Members that this package declares: not those of Error, Promise or an array. */
  const membersOf = (/** @type {ts.Symbol} */ symbol) => {
    const type = checker.getDeclaredTypeOfSymbol(symbol)
    const parts = type.isUnion() ? type.types : [type]
    const statics = symbol.valueDeclaration === undefined ? [] : checker.getTypeOfSymbol(symbol).getProperties()
    const own = [...parts.flatMap((part) => part.getProperties()), ...statics].filter(
      (member) =>
        member.name !== 'prototype' &&
        !/^(__|.*#)/.test(member.name) &&
        !isInternal(member) &&
        (member.declarations ?? []).some((each) => each.getSourceFile().fileName.startsWith(join(root, 'dist', 'lib'))),
    )
    return [...new Set(own.map(({ name }) => name))]
  }
  return found.flatMap(({ name: entry, path }) => {
    const source = program.getSourceFile(path)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Failure(`${path} is no module`)
    return checker.getExportsOfModule(module).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const hasMembers = symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)
      const members = hasMembers ? membersOf(symbol) : []
      return [`${entry} ${exported.name}`, ...members.map((member) => `${entry} ${exported.name}.${member}`)]
    })
  })
}

/** Lines of a help text that begin with a flag, or in its list of commands with a name. */
async function namesOfCommand() {
  if (!existsSync(cli)) throw new Failure('dist is missing: run npm run build first')
  const { runTrt } = await import(pathToFileURL(join(cli, 'program.js')).href)
  const { Session } = await import(pathToFileURL(join(cli, 'session.js')).href)
  const help = async (/** @type {string[]} */ ...words) => {
    let text = ''
    const sink = { write: (/** @type {string} */ part) => void (text += part) }
    await runTrt([...words, '--help'], new Session({ name: 'trt', stdout: sink, stderr: sink }))
    return text.split('\n')
  }
  const first = await help()
  const from = first.findIndex((line) => line.startsWith('Commands:'))
  const commands = first.slice(from + 1).flatMap((line) => /^ {2}([a-z-]+)(\|| |$)/.exec(line)?.[1] ?? [])
  const all = await Promise.all(
    commands.map(async (name) =>
      (await help(name)).flatMap((line) => {
        const flag = /^ {2}(?:-\w, )?(--[\w-]+)/.exec(line)?.[1]
        return flag === undefined || flag === '--help' ? [] : [`trt ${name} ${flag}`]
      }),
    ),
  )
  return [...commands.map((name) => `trt ${name}`), ...all.flat()]
}

await main(async () => {
  const names = [...new Set([...namesOfLibrary(), ...(await namesOfCommand())])].sort()
  const text = `${names.join('\n')}\n`
  if (!argv.includes('--check')) return writeFileSync(file, text)
  const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const changes = [
    ...names.filter((name) => !before.includes(name)).map((name) => `+ ${name}`),
    ...before.filter((name) => name !== '' && !names.includes(name)).map((name) => `- ${name}`),
  ]
  if (changes.length > 0)
    throw new Failure(`docs/public-names.txt: node scripts/public-names.mjs writes it anew:\n${changes.join('\n')}`)
  say(`docs/public-names.txt has all ${names.length} names`)
})
