// The addon's table of onnxruntime's functions against onnxruntime's own assertions, the library that is installed, and
// the declarations that cargo brings.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { packagedBinaries, packagedLibrary } from '../support/onnxruntime.js'
import { cargoCrate } from './crates.js'

/**
 * The last entry of each version of OrtApi, from version 1 on, as onnxruntime_c_api.cc asserts it ("Size of version 1
 * API cannot change"): what an older version has never moves.
 */
const ends = [
  ['ReleaseCustomOpDomain', 101],
  ['ReleaseModelMetadata', 118],
  ['AddFreeDimensionOverrideByName', 124],
  ['ReleaseAvailableProviders', 126],
  ['SetGlobalSpinControl', 149],
  ['ReleaseArenaCfg', 157],
  ['GetCurrentGpuDeviceId', 161],
  ['CreateSessionFromArrayWithPrepackedWeightsContainer', 169],
  ['GetSparseTensorIndices', 191],
  ['SynchronizeBoundOutputs', 203],
  ['SessionOptionsAppendExecutionProvider_MIGraphX', 209],
  ['ReleaseKernelInfo', 218],
  ['ReleaseCANNProviderOptions', 224],
  ['GetSessionConfigEntry', 238],
  ['GetBuildInfoString', 254],
  ['KernelContext_GetResource', 265],
  ['SessionOptionsAppendExecutionProvider_OpenVINO_V2', 275],
] as const

const sinceOf = (index: number) => ends.findIndex(([, end]) => index <= end) + 1

const addon = loadAddon()
const rows = addon.ortTable()
const manifest = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')

t.test('the table is in order, and every row is of the version that first has its index', (t) => {
  t.ok(rows.length >= 40, `${rows.length} rows`)
  t.same(new Set(rows.map(({ name }) => name)).size, rows.length, 'each function once')
  const indices = rows.map(({ index }) => index)
  t.same(
    indices,
    [...new Set(indices)].sort((a, b) => a - b),
    'each index once, ascending',
  )
  t.same(
    rows.map(({ name, since }) => ({ name, since })),
    rows.map(({ name, index }) => ({ name, since: sinceOf(index) })),
  )
  t.end()
})

t.test('the entries of OrtApi that cargo knows', async (t) => {
  const crate = await cargoCrate({ name: 'ort-sys', version: '2.0.0-rc.15' })
  if (typeof crate === 'string') return t.pass(crate, { skip: crate })
  const entries = entriesOf(readFileSync(join(crate.folder, 'src', 'lib.rs'), 'utf8'))
  t.ok(entries.length > 300, `${entries.length} entries`)
  const at = (name: string) => entries.findIndex((entry) => entry.name === name)
  t.same(
    rows.map(({ name, index }) => ({ name, index })),
    rows.map(({ name }) => ({ name, index: at(name) })),
  )
  t.same(
    ends,
    ends.map(([name]) => [name, at(name)]),
    'the last entries of the versions',
  )
  const later = entries.filter(({ since }) => since !== undefined)
  t.ok(later.length > 50, `${later.length} entries of versions that not every onnxruntime has`)
  t.same(
    rows.filter(({ name, since }) => later.some((entry) => entry.name === name && entry.since !== since)),
    [],
    'no row is of an earlier version than its entry',
  )
})

t.test('the library of onnxruntime-node', async (t) => {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  await t.rejects(addon.findOnnxruntime('/nowhere/at/all', packagedBinaries), {
    code: 'ERR_TRT_NO_ONNXRUNTIME',
    message: /^There is no onnxruntime at \/nowhere\/at\/all/,
  })
  await t.rejects(addon.findOnnxruntime(import.meta.dirname, packagedBinaries), {
    code: 'ERR_TRT_NO_ONNXRUNTIME',
    message: /holds no onnxruntime/,
  })
  const found = await addon.findOnnxruntime('', packagedBinaries)
  t.equal(found.version, version)
  t.equal(found.name, `onnxruntime ${version}`)
  t.equal(dirname(found.path), packagedBinaries)
  t.same(await addon.findOnnxruntime('', ''), found, 'a process has one')
  t.same(await addon.findOnnxruntime(packagedBinaries, ''), found, 'named by its folder')
  t.same(await addon.findOnnxruntime(packagedLibrary, ''), found, 'named by its file')
  const other = process.execPath
  await t.rejects(addon.findOnnxruntime(other, packagedBinaries), {
    code: 'ERR_TRT_NO_ONNXRUNTIME',
    message: new RegExp(
      `Expected the onnxruntime at ${other}, but this process has loaded the one at ${found.path} before: a process has one`,
    ),
    details: { path: other, loaded: found.path },
  })
})

/**
 * The fields of the struct OrtApi in order; `since` where it is for a feature "api-18" or later only. One that differs
 * by architecture stands there twice.
 */
function entriesOf(source: string): { name: string; since: number | undefined }[] {
  const begin = source.indexOf('pub struct OrtApi {')
  const body = source.slice(begin, source.indexOf('\n}\n', begin))
  const entries = new Map<string, number | undefined>()
  let since: number | undefined
  for (const line of body.split('\n').slice(1)) {
    const feature = /^\t#\[cfg\(.*feature = "api-(\d+)"/.exec(line)
    if (feature) since = Number(feature[1])
    const name = /^\tpub (\w+):/.exec(line)?.[1]
    if (name === undefined) continue
    if (!entries.has(name)) entries.set(name, since)
    since = undefined
  }
  return [...entries].map(([name, since]) => ({ name, since }))
}
