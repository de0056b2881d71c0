// NOTICE names what is shipped, linked and installed with the package, each with its licence: by what npm's lock file
// and the packages themselves say.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readText, root } from './support.js'

interface Locked {
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly peer?: boolean
}

const notice = readText('NOTICE')
/** The lines "name: licence" of a part of NOTICE. */
function listed(part: string): Map<string, string> {
  const [, text = ''] = new RegExp(`^== ${part}.* ==\\n([\\s\\S]*?)(?=^==|(?![\\s\\S]))`, 'm').exec(notice) ?? []
  return new Map(Array.from(text.matchAll(/^(\S[^:]*): (.+)$/gm), ([, name = '', licence = '']) => [name, licence]))
}
const licenceOf = (name: string): string =>
  (JSON.parse(readText(join('node_modules', name, 'package.json'))) as { license: string }).license

t.test('what npm installs with the package', (t) => {
  const { packages } = JSON.parse(readText('package-lock.json')) as { packages: Record<string, Locked> }
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional, peer }]) => path !== '' && !dev && !devOptional && !peer,
  )
  const names = new Set(
    installed.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  )
  t.ok(names.size >= 9, `${names.size} packages`)
  t.strictSame(
    Object.fromEntries(listed('Installed with')),
    Object.fromEntries([...names].sort().map((name) => [name, licenceOf(name)])),
  )
  const copyleft = [...names].filter((name) => /GPL|MPL|EPL|CDDL|UNLICENSED|SEE LICENSE/i.test(licenceOf(name)))
  t.same(copyleft, [], 'none of it asks more of a user than its notice')
  t.end()
})

t.test('the optional peers', (t) => {
  const { peerDependencies } = JSON.parse(readText('package.json')) as { peerDependencies: Record<string, string> }
  const names = Object.keys(peerDependencies).sort()
  t.strictSame(Object.fromEntries(listed('Optional')), Object.fromEntries(names.map((name) => [name, licenceOf(name)])))
  t.end()
})

t.test('what the prebuilt binary is linked of', (t) => {
  const linked = listed('Linked into')
  t.equal(linked.get('node-addon-api'), licenceOf('node-addon-api'))
  for (const name of ['libstdc++', 'glibc', 'compiler_rt'])
    t.ok(
      [...linked.keys()].some((each) => each.startsWith(name)),
      name,
    )
  t.match(notice, 'Permission is hereby granted', "node-addon-api's licence wants to be in copies")
  t.end()
})

t.test('what of others lies in what is shipped', (t) => {
  t.match(
    [...listed('Part of').keys()],
    [/^onnx \(lib\/onnx\/onnx\.proto/, /^model_config and grpc_service \(lib\/kserve\/messages\//],
  )
  t.match(notice, 'Redistribution and use in source and binary forms', 'their licence wants to be in copies')
  const shipped = ['lib', 'native'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8', withFileTypes: false }).map((path) =>
      join(folder, path),
    ),
  )
  t.same(
    shipped.filter(
      (path) =>
        /\.(ttf|otf|woff2?|onnx|plan|so|a|bin|npy|npz|png|jpe?g)$/.test(path) || /\/(third_party|vendor)\//.test(path),
    ),
    [],
    'no fonts, models, pictures or libraries',
  )
  const foreign = shipped.filter((path) => /\.(ts|cc|h|def|inc|proto)$/.test(path) && /copyright/i.test(readText(path)))
  t.same(
    foreign.sort(),
    ['grpc_service', 'model_config'].flatMap((name) => [
      `lib/kserve/messages/${name}.proto`,
      `lib/kserve/messages/${name}_pb.ts`,
    ]),
    'no other file has a copyright of its own',
  )
  t.ok(existsSync(join(root, 'LICENSE')))
  t.end()
})
