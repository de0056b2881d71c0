// The examples of docstrings, each a program of its own, compile against the declarations of the package.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { globSync } from 'tinyglobby'
import ts from 'typescript'
import { root } from '../fake/build.js'

interface Example {
  /** The file and the line that it begins in. */
  readonly place: string
  readonly code: string
}

/** What stands in fences of TypeScript in the docstrings of a file. */
function examplesOf(path: string): Example[] {
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(/^( *) \* ```ts\n([^]*?)^ *\* ```$/gm)].map(({ index, 1: indent = '', 2: lines = '' }) => ({
    place: `${path}:${text.slice(0, index).split('\n').length}`,
    code: lines.replaceAll(new RegExp(`^${indent} \\* ?`, 'gm'), ''),
  }))
}

t.test('every example of a docstring compiles', async (t) => {
  const examples = globSync('lib/**/*.ts', { cwd: root }).sort().flatMap(examplesOf)
  t.ok(examples.length >= 20, `${examples.length} examples were found`)
  for (const { place, code } of examples) t.match(code, /from 'node-tensorrt/, `${place} imports what it uses`)
  const folder = t.testdir(Object.fromEntries(examples.map(({ code }, i) => [`example-${i}.ts`, code])))
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    skipLibCheck: true,
  }
  const program = ts.createProgram(examples.map((_, i) => join(folder, `example-${i}.ts`)), options) // prettier-ignore
  const said = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const number = Number(/\d+/.exec(basename(file?.fileName ?? ''))?.[0] ?? -1)
    return `${examples[number]?.place ?? file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
  t.same(said, [])
})
