// @ts-check
// What a test file needs beyond dist/, by what it imports: the addon, the fakes, and what is fetched. A test run
// prepares only what its files need, and a file starts as soon as its own needs are there.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { platform } from 'node:process'
import { ensureCenterFace } from './centerface.mjs'
import { buildFakes } from './fakes.mjs'
import { ensureOnnxNodes, ensurePythonOnnx, ensurePythonOnnxRuntime } from './onnxruntime.mjs'
import { root, say } from './support.mjs'
import { ensureTensorRT } from './tensorrt.mjs'
import { ensureTritonClient } from './tritonclient.mjs'

/** The variables of the environment that tell tests where something is, and what provides it. */
const providers = {
  NODE_TENSORRT_FAKES: async () => (platform === 'linux' ? { path: await buildFakes() } : {}),
  TENSORRT_PATH: ensureTensorRT,
  TRT_TEST_CENTERFACE: ensureCenterFace,
  TRT_TEST_PYTHONPATH: ensurePythonOnnxRuntime,
  TRT_TEST_ONNX_PYTHONPATH: ensurePythonOnnx,
  TRT_TEST_ONNX_NODES: ensureOnnxNodes,
  TRT_TEST_TRITONCLIENT: ensureTritonClient,
}

/** @typedef {keyof typeof providers} Variable */
/** @typedef {{ addon: boolean, variables: Variable[] }} Needs */

export const fakesVariable = 'NODE_TENSORRT_FAKES'
export const allVariables = /** @type {Variable[]} */ (Object.keys(providers))

/** The variables behind the exports of test/support/tensorrt.ts. */
const variablesOfSupport = /** @type {Record<string, Variable>} */ ({
  rtxPath: 'TENSORRT_PATH',
  skipWithoutRtx: 'TENSORRT_PATH',
  pythonPath: 'TRT_TEST_PYTHONPATH',
  skipWithoutPython: 'TRT_TEST_PYTHONPATH',
  onnxPythonPath: 'TRT_TEST_ONNX_PYTHONPATH',
  skipWithoutOnnx: 'TRT_TEST_ONNX_PYTHONPATH',
  centerFacePath: 'TRT_TEST_CENTERFACE',
  skipWithoutCenterFace: 'TRT_TEST_CENTERFACE',
})

const dist = join(root, 'dist')
const support = join(dist, 'test', 'support', 'tensorrt.js')
const fakes = join(dist, 'test', 'fake', 'build.js')
const addon = join(dist, 'lib', 'backend', 'native.js')

const provided = /** @type {Map<Variable, Promise<[Variable, string][]>>} */ (new Map())
/** Fetching is limited by the network, so one download at a time is as fast as several. */
let fetched = /** @type {Promise<unknown>} */ (Promise.resolve())

/**
 * Provides what the variables stand for, once for all callers. If something cannot be fetched, its variable is left
 * out, and the reason is printed.
 *
 * @param {readonly Variable[]} variables
 * @returns {Promise<Record<string, string>>}
 */
export const prepare = async (variables) => {
  // TensorRT-RTX first, as most files wait for it
  const inOrder = allVariables.filter((variable) => variables.includes(variable))
  const entries = inOrder.map((variable) => {
    const known = provided.get(variable) ?? provide(variable)
    provided.set(variable, known)
    return known
  })
  return Object.fromEntries((await Promise.all(entries)).flat())
}

/** @returns {Promise<[Variable, string][]>} */
const provide = async (/** @type {Variable} */ variable) => {
  const provider = /** @type {() => Promise<{ path?: string, reason?: string }>} */ (providers[variable])
  const made = variable === fakesVariable ? provider() : fetched.then(provider)
  if (variable !== fakesVariable) fetched = made.catch(() => undefined)
  const { path, reason } = await made
  if (path !== undefined) return [[variable, path]]
  if (reason !== undefined) say(`${reason}\nThe tests that need it will be skipped.`)
  return []
}

/**
 * What a compiled test file needs. A file that reaches the addon, or that starts processes or threads, gets the addon
 * and TensorRT-RTX, as the addon looks for TensorRT by itself.
 *
 * @param {string} file
 * @returns {Needs}
 */
export const needsOf = (file) => {
  const reached = reachedFrom(join(root, file))
  const variables = /** @type {Set<Variable>} */ (new Set())
  let needsAddon = reached.has(addon)
  for (const path of reached) {
    const { starts, names } = factsOf(path)
    if (starts) needsAddon = true
    for (const name of names) variables.add(name)
  }
  if (needsAddon) variables.add('TENSORRT_PATH')
  if (reached.has(fakes)) variables.add(fakesVariable)
  return { addon: needsAddon, variables: [...variables] }
}

/** @returns {Set<string>} the file, and the files of dist/ that it imports or names, and theirs */
export const reachedFrom = (/** @type {string} */ path) => {
  const reached = /** @type {Set<string>} */ (new Set())
  const open = [path]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    open.push(...factsOf(next).imports)
  }
  return reached
}

/** @typedef {{ imports: string[], starts: boolean, names: Variable[] }} Facts */

const facts = /** @type {Map<string, Facts>} */ (new Map())

/** @returns {Facts} what the text of one compiled file tells */
const factsOf = (/** @type {string} */ path) => {
  const known = facts.get(path)
  if (known !== undefined) return known
  const text = readFileSync(path, 'utf8')
  const isLib = path.startsWith(join(dist, 'lib') + sep)
  // imports, and what is started by its path
  const literals = [...text.matchAll(/(['"`])(\.{1,2}\/[^'"`\n]+\.js|dist\/[^'"`\n]+\.js)\1/g)].map(([, , name = '']) =>
    join(name.startsWith('dist/') ? root : dirname(path), name),
  )
  const found = {
    imports: [...new Set(literals)].filter((each) => each.startsWith(dist) && existsSync(each)),
    starts: !isLib && /child_process|worker_threads|node-pty/.test(text),
    // a test file whose name is computed may need anything
    names: isLib || path === support ? [] : /\}\.test\.js/.test(text) ? allVariables : namedIn(text, dirname(path)),
  }
  facts.set(path, found)
  return found
}

/** @returns {Variable[]} */
const namedIn = (/** @type {string} */ text, /** @type {string} */ folder) => {
  const direct = allVariables.filter((variable) => variable !== fakesVariable && text.includes(variable))
  const imported = [...text.matchAll(/import \{([^}]*)\} from '([^']*\/tensorrt\.js)'/g)]
    .filter(([, , name = '']) => join(folder, name) === support)
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim().split(' ')[0] ?? '')
    .filter((name) => name !== '')
  return [...new Set([...direct, ...imported.flatMap((name) => variablesOfSupport[name] ?? allVariables)])]
}
