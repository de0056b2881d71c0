// What the import of the package brings with it.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import t from 'tap'

const lib = fileURLToPath(new URL('../../lib', import.meta.url))

/** The files that a file imports at once, and so on; what `import()` brings comes later, if at all. */
function imported(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)\b[^;'"]*['"](\.{1,2}\/[^'"]+)['"]/gm,
  ))
    imported(join(dirname(path), name), found)
  return found
}

t.test('what opens engines is imported when one is opened: its memory is not taken before', (t) => {
  const files = imported(join(lib, 'index.js'))
  t.ok(files.has(join(lib, 'engine.js')) && files.has(join(lib, 'capabilities.js')), 'what is looked at')
  const heavy = ['addon', 'completions', 'onnxruntime', 'tensorrt', 'cpu', 'portable/backend'].map((name) =>
    join(lib, 'backend', `${name}.js`),
  )
  t.same(
    heavy.filter((path) => files.has(path)),
    [],
  )
  t.ok(
    imported(join(lib, 'backend', 'addon.js')).has(join(lib, 'backend', 'completions.js')),
    'an import is seen where there is one',
  )
  t.end()
})

t.test('import and require reject a Node that is too old', (t) => {
  const root = join(lib, '../..')
  const [, ofImport = ''] = /^([^]*?throw new Error[^]*?;)/m.exec(readFileSync(join(lib, 'disposal.js'), 'utf8')) ?? []
  const ofRequire = readFileSync(join(root, 'commonjs/node-version.cjs'), 'utf8')
  const saidBy = (code: string, node: string): string => {
    try {
      runInNewContext(code, { process: { versions: { node } }, require: () => ({ versions: { node } }) })
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  for (const [node, isSupported] of Object.entries({
    '18.20.8': false,
    '20.18.3': false,
    '20.19.0': true,
    '21.7.3': false,
    '22.11.0': false,
    '22.12.0': true,
    '23.0.0': true,
    '26.10.0': true,
  })) {
    const said = saidBy(ofImport, node)
    t.equal(said === '', isSupported, node)
    t.equal(saidBy(ofRequire, node), said, node)
  }
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly require: string; readonly default: string }>>
  }
  for (const [name, entry] of Object.entries(exports)) {
    if (typeof entry === 'string') continue
    const first = [...imported(join(root, entry.default))].includes(join(lib, 'disposal.js'))
    t.ok(first, `${name} imports the check`)
    t.match(readFileSync(join(root, entry.require), 'utf8'), /^require\('\.\/node-version\.cjs'\)/, name)
  }
  t.end()
})
