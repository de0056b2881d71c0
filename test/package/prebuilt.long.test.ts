// The tarball as it is published: `npm run pack` compiles the binary first, a whole compilation on two cores.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { skipFile } from '../support/needs.js'
import { hasAddon, stranger, target } from './stranger.js'
import { root, run } from './support.js'

t.setTimeout(1_800_000)

if (!hasAddon) skipFile(`no addon on ${target}`)
const { folder, installed, paths, bytes } = await stranger({ addon: true })
const prebuilt = join(installed, 'prebuilds', target, 'node-tensorrt.node')

t.test('its size', async (t) => {
  t.ok(bytes <= 1_620_000, `${bytes} bytes`)
})

t.test('the binary needs no newer glibc than 2.28, no libstdc++ and nothing of NVIDIA', async (t) => {
  const { lackingOnOlderSystems } = (await import(pathToFileURL(join(root, 'scripts/older-glibc.mjs')).href)) as {
    lackingOnOlderSystems: (binary: string) => Promise<string[]>
  }
  t.same(await lackingOnOlderSystems(prebuilt), [])
  const newer = await lackingOnOlderSystems(join(root, 'build/Release/node_tensorrt.node'))
  t.ok(
    newer.some((symbol) => /^\w+ \(GLIBC_2\.(29|3\d)\)$/.test(symbol)),
    `what this machine's own linker made is refused: ${newer.join(', ')}`,
  )
  const versions = [...(await run('objdump', ['-T', prebuilt], root)).matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(
    ([, major, minor]) => Number(major) * 1000 + Number(minor),
  )
  t.ok(
    versions.length > 50 && Math.max(...versions) <= 2028,
    `${versions.length} symbols of glibc, the newest of ${Math.max(...versions)}`,
  )
  const needed = [...(await run('readelf', ['-d', '-W', prebuilt], root)).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(
    ([, library]) => library ?? '',
  )
  t.ok(needed.includes('libc.so.6'))
  t.same(
    needed.filter((library) => !/^(libc|libm|libdl|libpthread|libgcc_s|ld-linux-\S+)\.so/.test(library)),
    [],
  )
  const exported = (await run('nm', ['-D', '--defined-only', prebuilt], root)).match(/ [TWVBDR] (\S+)/g) ?? []
  t.ok(exported.length < 10, `it exports hardly more than its entry point: ${exported.join()}`)
})

t.test('installed without scripts, the binary of the tarball is the one that is loaded', async (t) => {
  t.ok(paths.includes(`prebuilds/${target}/node-tensorrt.node`), 'it is in it')
  const load = `require('node:module').createRequire(${JSON.stringify(join(installed, 'package.json'))})('node-gyp-build')`
  const path = await run(process.execPath, ['-p', `${load}.path(${JSON.stringify(installed)})`], folder)
  t.equal(path.trim(), prebuilt)
  const found = await run(join(folder, 'node_modules', '.bin', 'node-tensorrt'), ['doctor', '--json'], folder)
  t.match(JSON.parse(found), { addon: { loaded: true } })
})
