// @ts-check
// npm run prebuilds: prebuilds/<platform>-<arch>/, the binary that `npm run pack` puts into the tarball. prebuildify
// drives node-gyp, which clears its build folder first: it works beside the developers' one, in build/prebuild.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { argv, env, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { lackingOnOlderSystems, linkerForOlderSystems, oldestGlibc } from './older-glibc.mjs'
import { bin, Failure, filesUnder, main, root, runQuietly, withLock } from './support.mjs'

const staging = join(root, 'build', 'prebuild')
const prebuilt = join(root, 'prebuilds', `${process.platform}-${process.arch}`, 'node-tensorrt.node')

/** Everything that the binary is made of: the same again is not built again. */
const fingerprint = () => {
  const hash = createHash('sha256').update(`${process.arch} ${process.versions.modules}`)
  for (const path of [
    ...filesUnder(join(root, 'native')).sort(),
    join(root, 'binding.gyp'),
    ...['units.mjs', 'older-glibc.mjs', 'older-glibc.c'].map((name) => join(root, 'scripts', name)),
  ])
    hash.update(relative(root, path)).update(readFileSync(path))
  return hash.digest('hex')
}

/** Where the running Node was installed with its headers, nothing has to be downloaded. */
export const nodedir = () => {
  const prefix = dirname(dirname(execPath))
  return existsSync(join(prefix, 'include', 'node', 'node_api.h')) ? prefix : undefined
}

/** Makes a folder that node-gyp may clear and build in: what it needs of this one, mostly as links. */
export const stage = (/** @type {string} */ folder) => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of ['binding.gyp', 'package.json']) copyFileSync(join(root, name), join(folder, name))
  for (const name of ['native', 'node_modules', 'scripts']) symlinkSync(join(root, name), join(folder, name))
}

/**
 * The addon as node-gyp makes it, in a folder of its own below build/bench, which NODE_TENSORRT_PREBUILD can name.
 *
 * @param {string} name
 * @param {Record<string, string>} [more] environment variables
 */
export const buildWithGyp = (name, more = {}) =>
  withLock(`gyp-${name}`, async () => {
    const folder = join(root, 'build', 'bench', name)
    const stamp = join(folder, 'fingerprint')
    const current = fingerprint()
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === current) return folder
    stage(folder)
    const headers = nodedir()
    const args = [bin('node-gyp'), 'rebuild', '--jobs', '2', ...(headers ? [`--nodedir=${headers}`] : [])]
    await runQuietly(execPath, args, { what: `building the addon (${name})`, cwd: folder, env: more })
    writeFileSync(stamp, current)
    return folder
  })

const prebuild = async () => {
  if (process.platform !== 'linux')
    throw new Failure(`no prebuilt binary is made on ${process.platform}: the addon needs Linux (x64, arm64)`)
  const stamp = join(staging, 'fingerprint')
  const current = fingerprint()
  if (existsSync(prebuilt) && existsSync(stamp) && readFileSync(stamp, 'utf8') === current) return
  stage(staging)
  const headers = nodedir()
  const args = [
    '--napi',
    '--strip',
    '--target',
    `node@${process.versions.node}`,
    '--name',
    'node-tensorrt',
    '--out',
    root,
  ]
  const output = await runQuietly(bin('prebuildify'), args, {
    what: 'building the prebuilt binary',
    cwd: staging,
    // prebuildify hands no such option on; node-gyp reads it from the environment, as npm would set it.
    env: {
      JOBS: '2',
      ...(headers ? { npm_config_nodedir: headers } : {}),
      ...(await linkerForOlderSystems()),
      ...(env['NODE_TENSORRT_WERROR'] ? { CXXFLAGS: '-Werror' } : {}),
    },
  })
  writeFileSync(join(staging, 'prebuild.log'), output)
  if (!existsSync(prebuilt)) throw new Failure(`prebuildify made no ${relative(root, prebuilt)}:\n${output}`)
  const lacking = await lackingOnOlderSystems(prebuilt)
  if (lacking.length > 0) {
    rmSync(prebuilt)
    throw new Failure(
      `the prebuilt binary would not load with glibc ${oldestGlibc}, for it needs ${lacking.join(', ')}`,
    )
  }
  writeFileSync(stamp, current)
}

/** Sees to the binary of this machine, in prebuilds/. */
export const ensurePrebuilt = () => withLock('prebuilds', prebuild)

if (argv[1] === fileURLToPath(import.meta.url)) await main(ensurePrebuilt)
