// Which modules a program loads that imports the package, and one that also runs ONNX on the CPU: what V8 counted in
// its process, in all of its threads.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { oneNode } from '../support/models.js'
import { readText, root } from './support.js'

const folder = temporaryFolder(t)
const model = join(folder, 'model.onnx')
writeFileSync(model, oneNode('Relu'))

const entry = pathToFileURL(join(root, 'dist/lib/index.js')).href
const importing = `import { Engine, Tensor } from ${JSON.stringify(entry)}\n`
const inferring = `${importing}
  const engine = await Engine.load(${JSON.stringify(model)}, { backend: 'cpu' })
  const [y] = Object.values(await engine.infer({ x: Tensor.from(new Float32Array([-1, 2, -3, 4]), [1, 4]) }))
  console.log(engine.backend, y.data.join())
  await engine.close()`

interface Loaded {
  readonly output: string
  /** Names of packages in node_modules. */
  readonly packages: readonly string[]
  /** Files of dist/lib. */
  readonly files: readonly string[]
}

async function loadedBy(name: string, program: string, env: NodeJS.ProcessEnv = {}): Promise<Loaded> {
  const counted = join(folder, name)
  mkdirSync(counted)
  const args = ['--input-type=module', '--eval', program]
  const { code, stdout, stderr } = await runNode(args, root, undefined, { ...env, NODE_V8_COVERAGE: counted })
  if (code !== 0) throw new Error(`${name}: ${String(code)} ${stderr}`)
  const paths = new Set<string>()
  for (const file of readdirSync(counted)) {
    const { result } = JSON.parse(readFileSync(join(counted, file), 'utf8')) as { result: { url: string }[] }
    for (const { url } of result) if (url.startsWith('file:')) paths.add(relative(root, fileURLToPath(url)))
  }
  const matches = (pattern: RegExp): string[] =>
    [...new Set([...paths].flatMap((path) => pattern.exec(path)?.[1] ?? []))].sort()
  return {
    output: stdout,
    packages: matches(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    files: matches(/^dist\/lib\/(.+)$/),
  }
}

const onnx = pathToFileURL(join(root, 'dist/lib/onnx/index.js')).href
const parsing = `import { readFile } from 'node:fs/promises'
  import { inspectModel, readModel } from ${JSON.stringify(onnx)}
  console.log(inspectModel(await readModel(await readFile(${JSON.stringify(model)}))).inputs.length)`

const [imported, inferred, portable, parsed] = await Promise.all([
  loadedBy('imported', importing),
  loadedBy('inferred', inferring),
  loadedBy('portable', inferring, { NODE_TENSORRT_PORTABLE: '1' }),
  loadedBy('parsed', parsing),
])

const rooms = (files: readonly string[]): string[] => [...new Set(files.map((path) => path.split('/')[0] ?? ''))]

t.test('the import loads no dependency, and nothing of the command line', async (t) => {
  t.ok(imported.files.includes('index.js') && imported.files.includes('engine.js'), 'what is looked at')
  t.same(imported.packages, [])
  for (const room of ['cli', 'serve', 'tasks', 'vision', 'quantization'])
    t.notOk(rooms(imported.files).includes(room), room)
})

t.test('running ONNX on the CPU loads what finds the addon, and no more', async (t) => {
  t.equal(inferred.output, 'cpu 0,2,0,4\n')
  t.ok(inferred.files.includes('backend/onnxruntime.js'), 'by the addon')
  t.same(inferred.packages, ['node-gyp-build'])
  t.notOk(rooms(inferred.files).includes('cli'))
})

t.test('without the addon: onnxruntime-node, in its thread', async (t) => {
  t.equal(portable.output, 'cpu 0,2,0,4\n')
  t.ok(portable.files.includes('backend/portable/worker.js'), 'what another thread loads is seen')
  // the model's metadata, which onnxruntime-node does not tell
  t.same(portable.packages, ['@bufbuild/protobuf', 'onnxruntime-common', 'onnxruntime-node'])
  t.notOk(rooms(portable.files).includes('cli'))
})

t.test('protobuf is loaded where ONNX is parsed', async (t) => {
  t.equal(parsed.output, '1\n')
  t.same(parsed.packages, ['@bufbuild/protobuf'])
})

const withoutComments = (code: string): string => code.replaceAll(/^ *\/?\*.*$/gm, '')

t.test('each dependency is imported by what is shipped, and nothing else is', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(readText('package.json')) as Record<
    string,
    Record<string, string>
  >
  const code = readdirSync(join(root, 'dist/lib'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.js'),
  )
  const named = code.flatMap((path) =>
    Array.from(
      // what examples in docstrings import is not imported
      withoutComments(readText(join('dist/lib', path))).matchAll(
        /(?:\bfrom |\bimport |\bimport\(|\brequire\(|createRequire\(.*\)\(|findPeer\(|\bawait load(?:Peer)?\()'([^.'][^']*)'/g,
      ),
      ([, name = '']) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '',
    ),
  )
  const packages = [...new Set(named)].filter((name) => !name.startsWith('node:')).sort()
  t.same(packages, [...Object.keys(dependencies ?? {}), ...Object.keys(peerDependencies ?? {})].sort())
})
