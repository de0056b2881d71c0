// What the package declares to its users, by the declarations that tsc wrote: no type of the addon's interface is in
// it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { root } from '../fake/build.js'

const lib = join(root, 'dist', 'lib')
const entries = [
  'index',
  'onnx/index',
  'vision/index',
  'quantization/index',
  'tasks/index',
  'benchmark/index',
  'serve/index',
  'video/index',
].map((name) => `${name}.d.ts`)
const program = ts.createProgram(
  entries.map((entry) => join(lib, entry)),
  { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, types: ['node'], skipLibCheck: true },
)
const checker = program.getTypeChecker()

/** Every declaration of this package that an entry's exports are made of, by name, and who names it. */
function reachable(entry: string): Map<string, string> {
  const path = join(lib, entry)
  const source = program.getSourceFile(path)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${path} is not built`)
  const found = new Map<string, string>()
  const seen = new Set<ts.Symbol>()
  const visit = (given: ts.Symbol, by: string): void => {
    const symbol = given.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(given) : given
    if (seen.has(symbol)) return
    seen.add(symbol)
    for (const declaration of symbol.declarations ?? []) {
      if (!declaration.getSourceFile().fileName.startsWith(lib)) continue
      found.set(symbol.name, by)
      const walk = (node: ts.Node): void => {
        if (ts.isClassElement(node) && isPrivate(node)) return
        if (ts.isIdentifier(node)) {
          const named = checker.getSymbolAtLocation(node)
          if (named !== undefined) visit(named, symbol.name)
        }
        ts.forEachChild(node, walk)
      }
      walk(declaration)
    }
  }
  for (const exported of checker.getExportsOfModule(module)) visit(exported, entry)
  return found
}

const isPrivate = (node: ts.ClassElement): boolean =>
  (node.name !== undefined && ts.isPrivateIdentifier(node.name)) ||
  (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0

for (const entry of entries) {
  t.test(entry, (t) => {
    const names = reachable(entry)
    t.ok(names.size > 20, `${names.size} names`)
    t.same(
      [...names].filter(([name]) => name.startsWith('Native')).map(([name, by]) => `${by} names ${name}`),
      [],
    )
    t.end()
  })
}

t.test('they need no types of the optional peers', (t) => {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    peerDependencies: object
  }
  const peers = [...Object.keys(peerDependencies), 'onnxruntime-common']
  const files = program.getSourceFiles().map(({ fileName }) => fileName)
  t.same(
    files.filter((file) => peers.some((name) => file.includes(`/node_modules/${name}/`))),
    [],
  )
  t.end()
})
