// What the import of the client brings with it: no addon, no pictures, no server, no package.
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const lib = fileURLToPath(new URL('../../lib', import.meta.url))

interface Graph {
  readonly files: Set<string>
  readonly packages: Set<string>
}

/** All that a file imports, and so on; also what `import()` names. */
function graphOf(path: string, graph: Graph = { files: new Set(), packages: new Set() }): Graph {
  if (graph.files.has(path)) return graph
  graph.files.add(path)
  const text = readFileSync(path, 'utf8')
  for (const [, one, other] of text.matchAll(
    /^(?:import|export)\b[^;'"]*\bfrom ['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm,
  )) {
    const name = one ?? other ?? ''
    if (name.startsWith('.')) graphOf(join(dirname(path), name), graph)
    else if (!name.startsWith('node:'))
      graph.packages.add(
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      )
  }
  return graph
}

t.test('of the client', (t) => {
  const { files, packages } = graphOf(join(lib, 'client', 'index.js'))
  const rooms = new Set([...files].map((path) => relative(lib, path).split('/')[0]))
  t.strictSame([...rooms].sort(), ['base', 'client', 'errors.js', 'kserve', 'tensor', 'tensor.js'])
  t.strictSame([...packages], ['@bufbuild/protobuf'])
  t.ok(graphOf(join(lib, 'engine.js')).files.size > files.size, 'more where there is more')
  t.end()
})

t.test('its declarations name no package', (t) => {
  for (const name of ['index', 'public-types', 'http-client', 'grpc-client']) {
    const text = readFileSync(join(lib, 'client', `${name}.d.ts`), 'utf8')
    const named = [...text.matchAll(/from ['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/g)].map(
      ([, one, other]) => one ?? other ?? '',
    )
    t.ok(
      named.every((from) => from.startsWith('.') || from.startsWith('node-tensorrt')),
      name,
    )
  }
  t.end()
})
