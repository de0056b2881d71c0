// @ts-check
// npm run pack [-- --to FOLDER] [--without-addon]: the tarball that is published, in build/ or FOLDER; prints its path.
// It is made of build/package/, which holds what users need: JavaScript without comments and source maps (docstrings
// are in the declarations), the declarations that exports lead to, the prebuilt binary of this machine, and a manifest
// without what is for developers. `npm publish build/node-tensorrt-VERSION.tgz` publishes it; the repository itself is
// private.
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative, resolve } from 'node:path'
import { argv, execPath } from 'node:process'
import { buildLib } from './build.mjs'
import { ensurePrebuilt } from './prebuilds.mjs'
import { Failure, filesUnder, main, root, runQuietly, tsc, withLock } from './support.mjs'

const stage = join(root, 'build', 'package')
/** Bytes of the tarball at most. */
const most = 1_650_000

/**
 * @type {{ files: string[], exports: Record<string, string | { types: string }> } & Record<string, unknown> & { name:
 * string, version: string }}
 */
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/**
 * The declarations that the package's exports are made of: what the command line and the inside declare nobody can
 * import.
 */
const declarations = () => {
  const found = /** @type {Set<string>} */ (new Set())
  const visit = (/** @type {string} */ path) => {
    if (found.has(path)) return
    found.add(path)
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(
      /(?:\bfrom|\bimport\()\s*['"](\.{1,2}\/[^'"]+)\.js['"]/g,
    ))
      visit(join(dirname(path), `${name}.d.ts`))
  }
  for (const entry of Object.values(manifest.exports)) if (typeof entry === 'object') visit(join(root, entry.types))
  return [...found]
}

/** @param {boolean} withAddon */
const fill = async (withAddon) => {
  rmSync(stage, { recursive: true, force: true })
  const config = join(root, 'scripts', 'package.tsconfig.json')
  await runQuietly(execPath, [tsc, '-p', config], { what: 'compiling the TypeScript for the package' })
  const assets = filesUnder(join(root, 'lib')).filter((path) => !['.ts', '.md', '.proto'].includes(extname(path)))
  for (const path of assets) cpSync(path, join(stage, 'dist', relative(root, path)))
  for (const path of declarations()) cpSync(path, join(stage, relative(root, path)))
  for (const name of manifest.files) {
    if (!/^(!|dist\b)/.test(name) && (name !== 'prebuilds' || withAddon))
      cpSync(join(root, name), join(stage, name), { recursive: true })
  }
  const forDevelopers = ['private', 'scripts', 'devDependencies', 'overrides', 'gypfile']
  const kept = Object.entries(manifest).filter(([name]) => !forDevelopers.includes(name))
  writeFileSync(join(stage, 'package.json'), JSON.stringify(Object.fromEntries(kept), undefined, 2) + '\n')
}

/**
 * @param {string} folder where the tarball is put
 * @param {boolean} withAddon
 * @returns {Promise<string>} its path
 */
const pack = async (folder, withAddon) => {
  await buildLib()
  if (withAddon) await ensurePrebuilt()
  return withLock('package', async () => {
    await fill(withAddon)
    mkdirSync(folder, { recursive: true })
    const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`)
    // As `npm pack` does it, but for the order: it puts files of one name from everywhere beside each other, which
    // makes 4 % more bytes.
    const same = [
      '--format=ustar',
      '--sort=name',
      '--mtime=1985-10-26T08:15:00Z',
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mode=u=rwX,go=rX',
    ]
    await runQuietly(
      'tar',
      ['-C', dirname(stage), ...same, '--use-compress-program=gzip -9n', '-cf', tarball, 'package'],
      {
        what: 'packing',
      },
    )
    const { size } = statSync(tarball)
    if (size > most) throw new Failure(`the tarball has ${size} bytes, of ${most} at most`)
    return tarball
  })
}

await main(async () => {
  const words = argv.slice(2)
  const to = words.indexOf('--to')
  const known = words.filter((word, i) => word !== '--without-addon' && word !== '--to' && (to < 0 || i !== to + 1))
  if (known.length > 0 || (to >= 0 && words[to + 1] === undefined))
    throw new Failure('npm run pack [-- --to FOLDER] [--without-addon]')
  const folder = to >= 0 ? resolve(words[to + 1] ?? '') : join(root, 'build')
  console.log(await pack(folder, !words.includes('--without-addon')))
})
