// @ts-check
// Archives of the kit for a GPU machine, and which of them travel together: for gpu-kit.mjs.
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  createReadStream,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { collect, Failure, filesUnder, root, runQuietly } from '../support.mjs'

/** @typedef {import('./contents.mjs').Entry} Entry */

export const mebibyte = 2 ** 20
/** What travels with one call at most: the working tree and what is carried. */
export const maxBytesPerCall = 64 * mebibyte
/** Not used, because the working tree is measured by the sizes of its files. */
const spareBytes = 0.25 * mebibyte

/** Bytes of the working tree that travel with each call: files that git knows or does not ignore, and shared/. */
export const treeBytes = async () => {
  const { output } = await collect('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  const files = new Set(output.split('\0').filter((name) => name !== ''))
  const paths = [...[...files].map((name) => join(root, name)), ...filesUnder(join(root, 'shared'))]
  return [...new Set(paths)].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/** @returns {Promise<string>} the SHA-256 of a file */
export const digestOf = async (/** @type {string} */ path) => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** Python packs, as it unpacks on the other side: a checkout has it, and need not have xz. */
const packer = `
import json, sys, tarfile
path, preset, list_path = sys.argv[1:]
def plain(info):
    info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    return info
with tarfile.open(path, "w:xz", preset=int(preset), dereference=True) as archive:
    for entry in json.load(open(list_path)):
        archive.add(entry["from"], entry["to"], recursive=False, filter=plain)
`

/**
 * Writes an archive whose bytes depend only on the files.
 *
 * @param {string} path ends in .tar.xz
 * @param {readonly Entry[]} entries
 * @param {number} preset of xz, 0 to 9
 */
export const writeArchive = async (path, entries, preset) => {
  const list = `${path}.json`
  writeFileSync(list, JSON.stringify(entries))
  try {
    const args = ['-c', packer, path, String(preset), list]
    await runQuietly('python3', args, { what: `packing ${basename(path)}` })
  } finally {
    rmSync(list)
  }
}

/** @typedef {{ name: string, path: string, bytes: number }} Part a file that travels */

export const partAt = (/** @type {string} */ path) => ({ name: basename(path), path, bytes: statSync(path).size })

/**
 * The parts of TensorRT that pack.sh has cut, with the digests that it wrote.
 *
 * @param {string} folder
 * @returns {{ parts: Part[], digests: Record<string, string> }}
 */
export const tensorrtParts = (folder) => {
  const list = join(folder, 'SHA256')
  if (!existsSync(list)) throw new Failure(`Expected a folder that pack.sh wrote but ${list} does not exist.`)
  const rows = readFileSync(list, 'utf8').trim().split('\n')
  const digests = Object.fromEntries(rows.map((row) => row.split(/ [ *]/).toReversed()))
  return {
    parts: Object.keys(digests)
      .sort()
      .map((name) => partAt(join(folder, name))),
    digests,
  }
}

/**
 * Puts archives into as few transfers as possible, in their order.
 *
 * @param {readonly Part[]} parts
 * @param {number} tree bytes of the working tree
 * @returns {Part[][]}
 */
export const transfersOf = (parts, tree) => {
  const room = maxBytesPerCall - spareBytes - tree
  const transfers = /** @type {Part[][]} */ ([])
  let free = 0
  for (const part of parts) {
    if (part.bytes > room) {
      const sizes = [room, part.bytes].map((bytes) => (bytes / mebibyte).toFixed(1))
      throw new Failure(
        `Expected at most ${sizes[0]} MiB in addition to the working tree but ${part.name} has ${sizes[1]} MiB.`,
      )
    }
    if (part.bytes > free) {
      transfers.push([])
      free = room
    }
    transfers.at(-1)?.push(part)
    free -= part.bytes
  }
  return transfers
}

/**
 * What start.py knows about the kit.
 *
 * @typedef {object} Manifest
 * @property {Record<string, string>} archives digests of the archives of the kit
 * @property {Record<string, string>} parts digests of the parts of TensorRT
 * @property {number} earlySeconds for the checks that need no TensorRT
 * @property {number} checkSeconds the longest limit of a program of checks
 */

const place = (/** @type {string} */ from, /** @type {string} */ to) => {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to) // another file system
  }
}

/**
 * Lays out a folder for each transfer: OUT/01, OUT/02 and so on. Each has start.py and the digests of all files.
 *
 * @param {string} out
 * @param {readonly (readonly Part[])[]} transfers
 * @param {Manifest} manifest
 */
export const layOut = (out, transfers, manifest) => {
  for (const name of readdirSync(out).filter((each) => /^\d\d$/.test(each)))
    rmSync(join(out, name), { recursive: true, force: true })
  return transfers.map((parts, index) => {
    const name = String(index + 1).padStart(2, '0')
    const folder = join(out, name)
    mkdirSync(folder, { recursive: true })
    for (const part of parts) place(part.path, join(folder, part.name))
    copyFileSync(join(root, 'scripts', 'gpu', 'start.py'), join(folder, 'start.py'))
    writeFileSync(join(folder, 'kit.json'), `${JSON.stringify(manifest, undefined, 1)}\n`)
    const bytes = filesUnder(folder).reduce((sum, path) => sum + statSync(path).size, 0)
    return { name, parts, bytes }
  })
}
