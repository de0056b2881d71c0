import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { readText, root, run } from './support.js'

interface Facts {
  sources: string[]
  apart: string[]
  defines: string[]
  cflags: string[]
  ldflags: string[]
  release_ldflags: string[]
  libraries: string[]
}

interface Commands {
  units: string[][]
  defines: string[]
  flags: string[]
  headers: string[]
  link: string[]
}

const facts = JSON.parse(readText('native/build.json')) as Facts
const { sources, apart } = facts

t.test('native/build.json lists every source file under native/, once', async (t) => {
  const found = readdirSync(join(root, 'native'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.cc'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  t.same([...sources].sort(), found.sort())
  t.strictSame(
    apart.filter((path) => !sources.includes(path)),
    [],
    'and of these, those that are compiled apart',
  )
})

t.test('both build systems read that list, and name no source themselves', async (t) => {
  for (const file of ['binding.gyp', 'CMakeLists.txt']) {
    const text = readText(file)
    t.match(text, 'native/build.json', file)
    t.match(text, 'scripts/units.mjs', file)
    t.notMatch(text, /\.cc\b/, file)
  }
})

t.test('prints a failed assertion whose value refers to itself', async (t) => {
  const tap = 'TAP version 14\nnot ok 1 - it\n  ---\n  doNotWant: &a\n    self: *a\n  ...\n1..1\n'
  const program = `import { Report } from './scripts/tap.mjs'
    const report = new Report()
    report.write(${JSON.stringify(tap)})
    report.end()
    console.log(report.lines.join('\\n'))`
  const printed = await run(process.execPath, ['--input-type=module', '--eval', program], root)
  t.match(printed, /^failed: it\n.*doNotWant.*Circular/)
})

t.test('each defect of test/defects can still be put in', async (t) => {
  t.match(await run(process.execPath, ['scripts/defects.mjs', '--check'], root), /^53 defects, 22 of them native$/m)
})

/** What Node's own common.gypi adds, which changes nothing of what is compiled here. */
const ofNode = {
  defines:
    /^(NODE_GYP_MODULE_NAME|USING_(UV|V8)_SHARED|V8_|OPENSSL_|_GLIBCXX_USE_CXX11_ABI=1$|_FILE_OFFSET_BITS=64$|_LARGEFILE_SOURCE$|__STDC_FORMAT_MACROS$)/,
  // from Node 22 on
  flags: /^(-m64|-fno-strict-aliasing)$/,
  link: /^(-m64|-rdynamic)$/,
}
/** What of CMake's own is said elsewhere by node-gyp: in the rule that links. */
const ofCMake = /^(-O3|-fPIC|-shared)$/

if (process.platform === 'linux') {
  const text = await run(process.execPath, [join(root, 'scripts', 'commands.mjs')], root)
  const { cmake, gyp, lacks = false } = JSON.parse(text) as { cmake: Commands; gyp?: Commands; lacks?: string }
  const addonApi = './node_modules/node-addon-api'

  t.test('the tested binary is compiled of all sources, as native/build.json says', async (t) => {
    t.strictSame(cmake.units.flat().sort(), [...sources].sort(), 'of all sources, each once')
    for (const path of apart)
      t.ok(
        cmake.units.some((unit) => unit.length === 1 && unit[0] === path),
        `${path} stands apart`,
      )
    for (const unit of cmake.units)
      t.equal(new Set(unit.map((path) => path.split('/')[1])).size, 1, `one room: ${unit[0] ?? ''}`)
    const missing = (given: string[], wanted: string[]): string[] => wanted.filter((word) => !given.includes(word))
    t.strictSame(
      missing(cmake.defines, [...facts.defines, 'NDEBUG']),
      [],
      'the defines of native/build.json, and none of assert()',
    )
    t.strictSame(missing(cmake.flags, [...facts.cflags, '-O3']), [], 'its flags')
    t.strictSame(
      missing(cmake.link, [...facts.ldflags, ...facts.release_ldflags, ...facts.libraries]),
      [],
      'those that it links with',
    )
    t.ok(cmake.headers.includes(addonApi), "node-addon-api's headers are its own")
  })

  t.test('the shipped binary has the units, defines and flags of the tested one', { skip: lacks }, async (t) => {
    if (gyp === undefined) return
    t.strictSame(gyp.units, cmake.units, 'units')
    for (const kind of ['defines', 'flags', 'link'] as const) {
      const shipped = gyp[kind].filter((word) => !ofNode[kind].test(word))
      const tested = kind === 'link' ? cmake.link.filter((word) => !ofCMake.test(word)) : cmake[kind]
      t.strictSame(shipped, tested, kind)
    }
    t.ok(gyp.headers.includes(addonApi), "node-addon-api's headers are its own")
  })
}
