import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { root, run } from './support.js'

// A whole compilation on two cores.
t.setTimeout(540_000)

const supported = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)
const target = `${process.platform}-${process.arch}`
const prebuilt = join(root, 'prebuilds', target, 'node-tensorrt.node')

t.test('npm run prebuilds', { skip: !supported && `no addon on ${target}` }, async (t) => {
  await run(process.execPath, ['scripts/prebuilds.mjs'], root)

  t.test('node-gyp compiles the list without a warning', async (t) => {
    t.notMatch(readFileSync(join(root, 'build', 'prebuild', 'prebuild.log'), 'utf8'), /warning:/i)
  })

  t.test('the binary needs no newer glibc than 2.34, no libstdc++ and nothing of NVIDIA', async (t) => {
    const versions = [...(await run('objdump', ['-T', prebuilt], root)).matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(
      ([, major, minor]) => Number(major) * 1000 + Number(minor),
    )
    t.ok(versions.length > 0, 'it uses glibc')
    t.ok(Math.max(...versions) <= 2034, `highest: ${String(Math.max(...versions))}`)
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

  t.test('the tarball, installed without scripts, works both ways', async (t) => {
    // Outside the project, or what it lacks would be found in the project's own node_modules.
    const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-stranger-'))
    t.teardown(() => {
      rmSync(folder, { recursive: true, force: true })
    })
    writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "version": "1.0.0", "private": true }')
    const packed = JSON.parse(await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root)) as {
      filename: string
      files: { path: string }[]
    }[]
    const [{ filename, files }] = packed as [(typeof packed)[0]]
    const paths = files.map(({ path }) => path)
    t.ok(paths.includes(`prebuilds/${target}/node-tensorrt.node`), 'the binary is in it')
    t.ok(paths.includes('dist/lib/index.d.ts'), 'the types are in it')
    t.same(
      paths.filter((path) => !/^(dist\/lib\/|prebuilds\/|package\.json$|README\.md$|CHANGELOG\.md$|LICENSE$|NOTICE$)/.test(path)),
      [],
      'nothing else is',
    )

    await run(
      'npm',
      ['install', `./${filename}`, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'],
      folder,
    )
    const installed = join(folder, 'node_modules', 'node-tensorrt')
    t.ok(existsSync(join(installed, 'package.json')))
    t.notOk(readdirSync(join(folder, 'node_modules')).includes('onnxruntime-node'), 'the optional peer is not installed')

    const use = `
      const tensor = new Tensor('float32', new Float32Array(4), [2, 2])
      capabilities().then((found) => console.log(JSON.stringify({ shape: tensor.shape, found: typeof found })), (error) => { throw error })`
    writeFileSync(join(folder, 'imports.mjs'), `import { capabilities, Tensor } from 'node-tensorrt'\n${use}`)
    writeFileSync(join(folder, 'requires.cjs'), `const { capabilities, Tensor } = require('node-tensorrt')\n${use}`)
    for (const file of ['imports.mjs', 'requires.cjs']) {
      t.same(JSON.parse(await run(process.execPath, ['--no-warnings', file], folder)), { shape: [2, 2], found: 'object' }, file)
    }
    for (const name of ['onnx', 'vision']) {
      t.equal(
        await run(process.execPath, ['-e', `import('node-tensorrt/${name}').then((m) => console.log(Object.keys(m).length > 0))`], folder),
        'true\n',
        name,
      )
    }
    await t.test('its types are complete', async () => {
      writeFileSync(
        join(folder, 'typed.mts'),
        `import { Tensor } from 'node-tensorrt'\nimport 'node-tensorrt/onnx'\nimport 'node-tensorrt/vision'\nconst tensor = new Tensor('float32', new Float32Array(4), [2, 2])\nexport const data: Float32Array = tensor.data\n`,
      )
      const options = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2022',
        '--lib',
        'es2023,esnext.disposable',
        '--types',
        'node',
      ]
      const types = ['--typeRoots', join(root, 'node_modules', '@types')]
      await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options, ...types, 'typed.mts'], folder)
    })
    const load = `require('node:module').createRequire(${JSON.stringify(join(installed, 'package.json'))})('node-gyp-build')`
    const path = await run(process.execPath, ['-p', `${load}.path(${JSON.stringify(installed)})`], folder)
    t.equal(path.trim(), join(installed, 'prebuilds', target, 'node-tensorrt.node'), 'the binary of the tarball is the one that is loaded')
    t.ok(await run(process.execPath, ['-p', `Object.keys(${load}(${JSON.stringify(installed)})).length > 0`], folder))
  })
})
