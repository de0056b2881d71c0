// What the import of the package brings with it.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
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
