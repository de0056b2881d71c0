// @ts-check
// node scripts/gpu-kit.mjs OUT [--parts FOLDER] [--dry]: makes the kit that checks this checkout on a GPU machine
// without network, compiler or Node (docs/design/gpu-kit.md): a folder for each transfer, OUT/01, OUT/02 and so on.
// --parts: TensorRT as pack.sh cut it, for transfers of their own. Prints the transfers and the calls of the device
// tool. --dry: then makes the same calls in a root file system that has nothing but glibc and Python, with the fakes in
// place of TensorRT and the driver.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { argv, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildLib } from './build.mjs'
import {
  digestOf,
  layOut,
  maxBytesPerCall,
  mebibyte,
  partAt,
  tensorrtParts,
  transfersOf,
  treeBytes,
  writeArchive,
} from './gpu/archives.mjs'
import { callsFor, estimate, secondsOf } from './gpu/calls.mjs'
import { checkPrograms, codeEntries, folderEntries, startedFiles } from './gpu/contents.mjs'
import { dryRun } from './gpu/dry.mjs'
import { nvidiaReason } from './gpu/nvidia.mjs'
import { ensureNode } from './nodes.mjs'
import { ensurePrebuilt } from './prebuilds.mjs'
import { cacheFolder, collect, Failure, main, root, runQuietly, withLock } from './support.mjs'

/** That of docker/'s images. */
const nodeVersion = '24.21.0'

/** @typedef {import('./gpu/contents.mjs').Entry} Entry */
/** @typedef {import('./gpu/archives.mjs').Part} Part */

/** The archive of Node, which is made once for all kits. */
const nodeArchive = async () => {
  const folder = cacheFolder()
  const path = join(folder, `gpu-kit-node-${nodeVersion}`, 'node.tar.xz')
  const make = async () => {
    if (existsSync(path)) return
    const node = await ensureNode(nodeVersion)
    mkdirSync(join(path, '..'), { recursive: true })
    await writeArchive(`${path}.new`, [{ from: node, to: 'bin/node' }], 6)
    await runQuietly('mv', [`${path}.new`, path], { what: 'keeping the archive of Node' })
  }
  await withLock('gpu-kit-node', make, folder)
  return path
}

/** The models, inputs and outputs of onnxruntime that the checks compare with, and what the benchmark reads. */
const writeReferences = async (/** @type {string} */ folder) => {
  rmSync(folder, { recursive: true, force: true })
  for (const program of ['dist/test/gpu/references.js', 'dist/bench/support/gpu-ranges.js'])
    await runQuietly(execPath, [join(root, program), folder], { what: `writing references (${program})` })
}

/** @throws {Failure} if a file is one of NVIDIA's */
export const refuseNvidia = (/** @type {readonly Entry[]} */ entries) => {
  for (const { from, to } of entries) {
    const reason = nvidiaReason(to, readFileSync(from))
    if (reason !== undefined) throw new Failure(`The kit must have no file of NVIDIA's, but ${to} is one: ${reason}.`)
  }
}

/**
 * Makes the kit.
 *
 * @param {object} options
 * @param {string} options.out
 * @param {string} options.node the archive of Node
 * @param {string} options.addon
 * @param {string} options.references a folder
 * @param {string} [options.parts] a folder that pack.sh wrote
 * @param {number} [options.preset] of xz
 * @param {number} options.tree bytes of the working tree
 */
export const makeKit = async ({ out, node, addon, references, parts: folder, preset = 6, tree }) => {
  const programs = await checkPrograms()
  const code = [...codeEntries(await startedFiles()), { from: addon, to: 'addon/node_tensorrt.node' }]
  const data = folderEntries(references, 'references')
  refuseNvidia([...code, ...data])
  const staging = join(out, 'archives')
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { recursive: true })
  await writeArchive(join(staging, 'code.tar.xz'), code, preset)
  await writeArchive(join(staging, 'references.tar.xz'), data, preset)
  const archives = [node, join(staging, 'code.tar.xz'), join(staging, 'references.tar.xz')].map(partAt)
  const tensorrt = folder === undefined ? { parts: [], digests: {} } : tensorrtParts(folder)
  const digests = await Promise.all(archives.map(async ({ name, path }) => [name, await digestOf(path)]))
  const manifest = {
    archives: Object.fromEntries(digests),
    parts: tensorrt.digests,
    earlySeconds: secondsOf(programs.filter(({ needs }) => needs !== 'tensorrt')).seconds,
    checkSeconds: secondsOf(programs).longest,
  }
  // each part of TensorRT has a transfer of its own
  const parts = tensorrt.parts.flatMap((part) => transfersOf([part], tree))
  const transfers = layOut(out, [...transfersOf(archives, tree), ...parts], manifest)
  rmSync(staging, { recursive: true, force: true })
  return { transfers, manifest, programs, tree }
}

/**
 * Prepares what every kit is made of.
 *
 * @returns {Promise<(place: { out: string, parts?: string }) => ReturnType<typeof makeKit>>}
 */
export const kitMaker = async () => {
  await buildLib()
  await ensurePrebuilt()
  const references = join(root, 'build', 'gpu-references')
  await writeReferences(references)
  const addon = join(root, 'prebuilds', `${process.platform}-${process.arch}`, 'node-tensorrt.node')
  const sources = { node: await nodeArchive(), addon, references, tree: await treeBytes() }
  return (place) => makeKit({ ...sources, ...place })
}

/** @returns {Promise<string>} the folder as the device tool sees it: in the checkout, and ignored by git */
const carriedFolder = async (/** @type {string} */ out) => {
  const path = relative(root, out)
  if (path === '' || path.startsWith('..') || isAbsolute(path)) return '.kit'
  if ((await collect('git', ['check-ignore', '-q', join(path, '01')])).code !== 0)
    throw new Failure(
      `Expected a folder that git ignores, such as .kit, but received ${path}: it would travel with every call.`,
    )
  return path
}

/** Prints the transfers, the calls and the estimate. */
const print = (
  /** @type {Awaited<ReturnType<typeof makeKit>>} */ { transfers, manifest, tree },
  /** @type {import('./gpu/calls.mjs').Call[]} */ calls,
) => {
  const size = (/** @type {number} */ bytes) => `${(bytes / mebibyte).toFixed(1).padStart(5)} MiB`
  console.log(`working tree ${size(tree)}; at most ${size(maxBytesPerCall)} for each transfer`)
  for (const { name, parts, bytes } of transfers) {
    console.log(`${name}  ${size(bytes)}, with the tree ${size(tree + bytes)}`)
    for (const part of parts)
      console.log(
        `    ${part.name.padEnd(24)} ${size(part.bytes)}  ${manifest.archives[part.name] ?? manifest.parts[part.name]}`,
      )
  }
  console.log('\ncalls of the device tool, in this order (later ones after the next start of the machine):')
  for (const { carry, command, timeoutSeconds, what } of calls)
    console.log(
      `- ${what}\n    carry: ${JSON.stringify(carry)}, timeout_s: ${timeoutSeconds}, command:\n    ${command}`,
    )
  console.log(`\nestimate by size: ${estimate(transfers, tree)}`)
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({
      options: { parts: { type: 'string' }, dry: { type: 'boolean', default: false } },
      allowPositionals: true,
    })
    const [given] = positionals
    if (given === undefined || positionals.length > 1)
      throw new Failure('node scripts/gpu-kit.mjs OUT [--parts FOLDER] [--dry]')
    const out = resolve(given)
    const folder = await carriedFolder(out)
    if (existsSync(out) && !statSync(out).isDirectory()) throw new Failure(`Expected a folder but ${out} is a file.`)
    mkdirSync(out, { recursive: true })
    const make = await kitMaker()
    const kit = await make({ out, ...(values.parts === undefined ? {} : { parts: resolve(values.parts) }) })
    print(kit, callsFor(folder, kit.transfers, kit.programs))
    if (values.dry && !(await dryRun(make))) process.exitCode = 1
  })
}
