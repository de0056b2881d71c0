// onnxruntime's library as npm installs it, without a script having run; and what is said where it is not there.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packagedLibrary } from '../support/onnxruntime.js'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { identity } from '../support/models.js'
import { installPackage } from './installed.js'

const folder = temporaryFolder(t)
const model = join(folder, 'model.onnx')
writeFileSync(model, identity())
const installed = installPackage(folder, { addon: true })
const runtime = join(folder, 'node_modules', 'onnxruntime-node')
const here = join(process.platform, process.arch)

/** onnxruntime-node with these files under its bin, and nothing else: each is the library. */
function installRuntime(...files: string[]): void {
  rmSync(runtime, { recursive: true, force: true })
  mkdirSync(runtime)
  writeFileSync(join(runtime, 'package.json'), '{ "name": "onnxruntime-node", "version": "9.8.7" }')
  for (const file of files) {
    mkdirSync(dirname(join(runtime, 'bin', file)), { recursive: true })
    symlinkSync(packagedLibrary, join(runtime, 'bin', file))
  }
}

/** What capabilities() knows of it, and what an inference gave. Python's wheels of this machine are out of sight. */
async function ran(env: NodeJS.ProcessEnv = {}, options: { library?: string } = {}): Promise<Record<string, unknown>> {
  const program = `
    const { capabilities, Engine, Tensor } = await import(${JSON.stringify(pathToFileURL(join(installed, 'dist/lib/index.js')).href)})
    const { cpu, missing } = await capabilities()
    const x = Tensor.from(Float32Array.of(1, 2))
    const infer = async (engine) => ({ description: engine.description, data: Array.from((await engine.infer(x)).data) })
    const told = ({ code, message, details }) => ({ code, message, details })
    const engine = Engine.load(${JSON.stringify(model)}, { backend: 'cpu', cpu: { threads: 1, ...${JSON.stringify(options)} } })
    console.log(JSON.stringify({ cpu, remedies: missing.filter(({ what }) => what === 'onnxruntime').map(({ remedy }) => remedy), ...await engine.then(infer).catch(told) }))
  `
  const nowhere = {
    HOME: folder,
    VIRTUAL_ENV: undefined,
    CONDA_PREFIX: undefined,
    ONNXRUNTIME_PATH: undefined,
    NODE_TENSORRT_PORTABLE: undefined,
  }
  const { code, signal, stdout, stderr } = await runNode(['--input-type=module', '-e', program], folder, undefined, {
    ...nowhere,
    ...env,
  })
  if (code !== 0 || signal !== null || stderr !== '') throw new Error(`ended with ${code ?? signal}: ${stderr}`)
  return JSON.parse(stdout) as Record<string, unknown>
}

const well = { description: /^onnxruntime \d+\.\d+\.\d+ on the CPU$/, data: [1, 2], remedies: [] }

t.test('the package as it is: no script of it has run, and no other file of it is needed', async (t) => {
  for (const api of ['napi-v6', 'napi-v9']) {
    installRuntime(
      `${api}/${here}/libonnxruntime.so.1`,
      `${api}/darwin/arm64/libonnxruntime.1.dylib`,
      'napi-v3/win32/x64/onnxruntime.dll',
    )
    const path = join(runtime, 'bin', api, here, 'libonnxruntime.so.1')
    t.match(await ran(), { ...well, cpu: { available: true, path, version: '9.8.7' } }, api)
  }
})

t.test('the package without what this platform needs', async (t) => {
  const rows: [files: string[], missing: string][] = [
    [['napi-v6/darwin/arm64/libonnxruntime.1.dylib'], join('*', here)],
    [[`napi-v6/${here}/onnxruntime_binding.node`], join('*', here)],
    [[], join('*', here)],
  ]
  for (const [files, missing] of rows) {
    installRuntime(...files)
    const where = join(runtime, 'bin', missing)
    const { message, ...rest } = await ran()
    const remedy =
      /^remove the onnxruntime-node that is installed.* install it again \(npm install onnxruntime-node; behind a firewall: /
    t.match(rest, {
      code: 'ERR_TRT_NO_ONNXRUNTIME',
      cpu: { available: false },
      details: { package: where, remedy },
      remedies: [remedy],
    })
    t.ok(String(message).startsWith(`No onnxruntime was found in ${where}, by the dynamic loader, or`), String(message))
    t.match(message, /What to do: remove the onnxruntime-node/)
  }
})

t.test('no package at all', async (t) => {
  rmSync(runtime, { recursive: true })
  t.match(await ran(), {
    code: 'ERR_TRT_NO_ONNXRUNTIME',
    message:
      /^No onnxruntime was found in a package onnxruntime-node, .*What to do: npm install onnxruntime-node; behind a firewall: /,
    remedies: [/ ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node$/],
  })
})

t.test('a path with nothing there, and one with no library, beside a package that has one', async (t) => {
  installRuntime(`napi-v6/${here}/libonnxruntime.so.1`)
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  const rows: [path: string, message: string, loads?: boolean][] = [
    [join(folder, 'none'), `There is no onnxruntime at ${join(folder, 'none')}: no such file or folder. What to do: `],
    [empty, `The folder ${empty} holds no onnxruntime (libonnxruntime.so.1, libonnxruntime.so …). What to do: `],
    [model, `Cannot load the onnxruntime at ${model}: `],
  ]
  for (const [path, begins] of rows) {
    const of = (name: string): string =>
      `${name} names the folder of libonnxruntime.so.1, or the library itself; without it, onnxruntime-node's is used`
    const asked: [name: string, env: NodeJS.ProcessEnv, option: { library?: string }][] = [
      ['ONNXRUNTIME_PATH', { ONNXRUNTIME_PATH: path }, {}],
      ['the option cpu.library', {}, { library: path }],
    ]
    for (const [name, env, option] of asked) {
      const { message, cpu, remedies, ...rest } = await ran(env, option)
      t.match(rest, { code: 'ERR_TRT_NO_ONNXRUNTIME', details: { path, remedy: of(name) } })
      t.ok(String(message).startsWith(begins) && String(message).endsWith(`What to do: ${of(name)}`), String(message))
      const known = path !== model && name === 'ONNXRUNTIME_PATH'
      t.match(cpu, { available: !known }, 'as far as that is known without loading it')
      t.same(remedies, known ? [of(name)] : [])
    }
  }
})
