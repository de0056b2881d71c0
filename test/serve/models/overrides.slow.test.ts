// Files that loads bring, of a server that was killed.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sweepTemporaries } from '../../../lib/base/temporary.js'
import { childEnvironment } from '../../support/children.js'
import { temporaryFolder } from '../../support/folders.js'
import { repository } from './folders.js'
import { rig } from './stand-ins.js'

const overrides = new URL('../../../lib/serve/models/overrides.js', import.meta.url).href
const program = `
  const { writeTemporaryModel } = await import(${JSON.stringify(overrides)})
  const { folder } = await writeTemporaryModel('m', new Map([['1/a/model.onnx', new Uint8Array(3)]]))
  process.stdout.write(folder.path, () => process.kill(process.pid, 'SIGKILL'))
`

await t.test('the next start removes what a server that was killed has left', async (t) => {
  const folder = temporaryFolder(t)
  const before = process.env['TMPDIR']
  t.teardown(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  })
  process.env['TMPDIR'] = folder
  const ours = repository(t)
  const { signal, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: childEnvironment({ TMPDIR: folder }),
    encoding: 'utf8',
  })
  t.equal(signal, 'SIGKILL')
  t.ok(existsSync(join(stdout, '1/a/model.onnx')), 'it was there')

  const { models, loads } = rig(ours, { allowFileOverride: true })
  await models.start()
  t.notOk(existsSync(stdout))
  await models.load('n', { config: '{"backend":"onnxruntime"}', files: new Map([['1/model.onnx', Buffer.from('x')]]) })
  const second = rig(ours)
  await second.models.start()
  t.ok(existsSync(loads.paths[0] ?? ''), 'what a living process has stays')
  await Promise.all([models.close(), second.models.close()])
})

await t.test('folders that have other names stay', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'node-tensorrt-model-abc'))
  mkdirSync(join(folder, '.model.00000000.zzz-00000000.tmp'))
  writeFileSync(join(folder, '.x.tmp'), '')
  await sweepTemporaries(folder)
  t.equal(readdirSync(folder).length, 3, 'a process of another system may live')
})
