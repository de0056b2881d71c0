// Which modules a program loads that imports the package, and one that also runs ONNX on the CPU: what V8 counted in its process, in all of its threads.
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
  const { y } = await engine.infer({ x: Tensor.from(new Float32Array([-1, 2, -3, 4]), [1, 4]) })
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
  const { code, stdout, stderr } = await runNode(args, root, 120_000, { ...env, NODE_V8_COVERAGE: counted })
  if (code !== 0) throw new Error(`${name}: ${String(code)} ${stderr}`)
  const paths = new Set<string>()
  for (const file of readdirSync(counted)) {
    const { result } = JSON.parse(readFileSync(join(counted, file), 'utf8')) as { result: { url: string }[] }
    for (const { url } of result) if (url.startsWith('file:')) paths.add(relative(root, fileURLToPath(url)))
  }
  const matches = (pattern: RegExp): string[] => [...new Set([...paths].flatMap((path) => pattern.exec(path)?.[1] ?? []))].sort()
  return {
    output: stdout,
    packages: matches(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    files: matches(/^dist\/lib\/(.+)$/),
  }
}

const [imported, inferred, portable] = await Promise.all([
  loadedBy('imported', importing),
  loadedBy('inferred', inferring),
  loadedBy('portable', inferring, { NODE_TENSORRT_PORTABLE: '1' }),
])
console.error(JSON.stringify([imported, inferred, portable], null, 1))
