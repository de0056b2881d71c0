// Programs that put this package before onnxruntime-node, and those that are too late for it, in processes of theirs.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { identity } from '../support/models.js'
import { temporaryFolder } from '../support/folders.js'
import { runNode } from '../support/children.js'
import { root } from '../package/support.js'

const folder = temporaryFolder(t)
const modules = join(folder, 'node_modules')
mkdirSync(modules)
symlinkSync(root, join(modules, 'node-tensorrt'))
for (const name of ['onnxruntime-node', 'onnxruntime-common'])
  symlinkSync(join(root, 'node_modules', name), join(modules, name))
writeFileSync(join(folder, 'model.onnx'), identity())

const register = 'node-tensorrt/onnxruntime/register'
const early = ['--no-warnings', '--import', register]

/** Which runtime makes the sessions of a module that a program has as `ort`, at its end. */
const tell = `
  const told = async (ort) => {
    const session = await ort.InferenceSession.create('model.onnx')
    const { y } = await session.run({ x: new ort.Tensor('float32', [1], [1]) })
    console.log(session.provider ?? 'theirs', y instanceof ort.Tensor)
  }
`
/** A program in a worker, of a file of its own: Node 20 imports nothing before code that a worker is given as text. */
function inWorker(program: string, file: string): string {
  writeFileSync(join(folder, file), program)
  return `import { Worker } from 'node:worker_threads'; new Worker(new URL(${JSON.stringify(file)}, import.meta.url))`
}

/** Programs by their file, the arguments of Node, and what they print; or what their error says. */
const programs: readonly (readonly [
  what: string,
  file: string,
  program: string,
  args: readonly string[],
  printed: string | RegExp,
])[] = [
  [
    'register, then onnxruntime-node',
    'early.mjs',
    `import '${register}'; import * as ort from 'onnxruntime-node'; ${tell} await told(ort)`,
    [],
    'cpu true\n',
  ],
  [
    'register by require()',
    'early.cjs',
    `require('${register}'); const ort = require('onnxruntime-node'); ${tell} told(ort)`,
    ['--no-warnings'],
    'cpu true\n',
  ],
  ['--import', 'import.mjs', `import * as ort from 'onnxruntime-node'; ${tell} await told(ort)`, early, 'cpu true\n'],
  [
    '--import before CommonJS',
    'import.cjs',
    `const ort = require('onnxruntime-node'); ${tell} told(ort)`,
    early,
    'cpu true\n',
  ],
  [
    '--require',
    'require.cjs',
    `const ort = require('onnxruntime-node'); ${tell} told(ort)`,
    ['--no-warnings', '--require', register],
    'cpu true\n',
  ],
  [
    '--import and a worker',
    'worker.mjs',
    inWorker(`const ort = require('onnxruntime-node'); ${tell} told(ort)`, 'thread.cjs'),
    early,
    'cpu true\n',
  ],
  [
    '--import and a worker that is an ES module',
    'worker-module.mjs',
    inWorker(`import * as ort from 'onnxruntime-node'; ${tell} await told(ort)`, 'thread.mjs'),
    early,
    'cpu true\n',
  ],
  [
    'a worker without it',
    'without.mjs',
    `import '${register}'; ${inWorker(`const ort = require('onnxruntime-node'); ${tell} told(ort)`, 'alone.cjs')}`,
    [],
    'theirs true\n',
  ],
  [
    'both, each by its own copy',
    'both.mjs',
    `import * as theirs from 'onnxruntime-node'; import * as ours from 'node-tensorrt/onnxruntime'; ${tell} await told(theirs); await told(ours)`,
    [],
    'theirs true\ncpu true\n',
  ],
  [
    'onnxruntime-node, then register',
    'late.mjs',
    `import 'onnxruntime-node'; import '${register}'`,
    [],
    /is loaded already .*onnxruntime_binding\.node.*node --import/,
  ],
  [
    'onnxruntime-node, then register, CommonJS',
    'late.cjs',
    `require('onnxruntime-node'); require('${register}')`,
    [],
    /is loaded already .*onnxruntime_binding\.node.*node --import/,
  ],
  [
    'onnxruntime-node, then the module',
    'second.cjs',
    `require('onnxruntime-node'); require('node-tensorrt/onnxruntime')`,
    [],
    /another runtime, such as onnxruntime-node, has the name 'cpu' already.*import it.*first/,
  ],
  [
    'a worker that is too late',
    'late-worker.mjs',
    inWorker(`require('onnxruntime-node'); require('${register}')`, 'late-thread.cjs'),
    [],
    /is loaded already/,
  ],
]

t.test('who comes first', async (t) => {
  const running = programs.map(async ([what, file, program, args, printed]) => {
    writeFileSync(join(folder, file), program)
    return { what, printed, ...(await runNode([...args, file], folder)) }
  })
  for (const { what, printed, code, stdout, stderr } of await Promise.all(running)) {
    if (typeof printed === 'string') t.same({ code, stdout, stderr }, { code: 0, stdout: printed, stderr: '' }, what)
    else {
      t.equal(code, 1, what)
      t.match(stderr, printed, what)
      t.match(stderr, 'ERR_TRT_INVALID_ARGUMENT')
    }
  }
})
