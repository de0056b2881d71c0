// @ts-check
// npm run build [-- --addon | --lib | --cases] [--sanitize=address|thread|undefined] The addon (CMake, through
// cmake-js) and the TypeScript, both at once. What is up to date is left alone; nothing is printed unless it takes long
// or fails. npm run build -- --separate A check, which makes nothing: each file of native/, of the C++ cases and of the
// fakes goes through the compiler by itself, with the same flags but without code being made, so that each includes
// what it uses. All builds compile a room, or a library, as one file (scripts/units.mjs, scripts/compile.cmake), where
// a missing include is not seen. To build from single files: cmake's option SEPARATE=ON, or NODE_TENSORRT_SEPARATE=1
// for node-gyp.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { compilerCount } from './slots.mjs'
import {
  atOnce,
  bin,
  collect,
  Failure,
  filesUnder,
  isWithinDistUser,
  main,
  modified,
  root,
  runQuietly,
  say,
  together,
  tsc,
  untilDistIsFree,
  withLock,
} from './support.mjs'

const sourceFolders = ['lib', 'test', 'examples', 'bench']
/** How native code is compiled, beside its own sources. */
const recipes = ['CMakeLists.txt', 'scripts/compile.cmake', 'scripts/units.mjs'].map((path) => join(root, path))
const libStamp = join(root, 'build', 'lib.stamp')

/** @typedef {'address' | 'thread' | 'undefined'} Sanitizer */

/** Where a build of the addon lies. */
export const addonPath = (/** @type {Sanitizer | undefined} */ sanitize) =>
  join(
    root,
    'build',
    ...(sanitize ? [{ address: 'asan', thread: 'tsan', undefined: 'ubsan' }[sanitize]] : []),
    'Release',
    'node_tensorrt.node',
  )

/**
 * Builds the addon; a sanitized one lies in a folder of its own. Elsewhere than on Linux there is none.
 *
 * @param {Sanitizer} [sanitize]
 */
export const buildAddon = (sanitize) =>
  withLock(sanitize ? `addon-${sanitize}` : 'addon', async () => {
    if (process.platform !== 'linux')
      return say(`no addon on ${process.platform}: TensorRT needs Linux (x64, arm64); the CPU backend works`)
    const addon = addonPath(sanitize)
    const inputs = [...filesUnder(join(root, 'native')), ...recipes]
    const folder = dirname(dirname(addon))
    const stamp = join(folder, 'addon.stamp')
    if (existsSync(addon) && modified(stamp) > Math.max(...inputs.map(modified))) return
    const begun = new Date()
    forgetMovedBuild(folder)
    const options = sanitize ? [`--CDSANITIZE=${sanitize}`] : []
    // CI is strict about warnings; a stranger's newer compiler may have new ones, and they must not stop him.
    if (process.env['NODE_TENSORRT_WERROR'] && !sanitize) options.push('--CDCMAKE_CXX_FLAGS=-Werror')
    const what = sanitize ? `building the addon (${sanitize} sanitizer)` : 'building the addon'
    const args = ['build', '--out', folder, '--parallel', String(compilerCount()), '--log-level', 'error', ...options]
    const output = await runQuietly(bin('cmake-js'), args, { what })
    writeFileSync(join(folder, 'addon.log'), output)
    if (output.includes('warning:') && !sanitize) say(output)
    if (!existsSync(addon)) throw new Failure(`${what} made no ${relative(root, addon)}:\n${output}`)
    writeFileSync(stamp, '')
    // What is edited while the compiler runs counts as changed since.
    utimesSync(stamp, begun, begun)
  })

/**
 * CMake refuses a build folder that was made for another place, as a copied or moved checkout has it.
 *
 * @param {string} folder
 * @param {string} [source]
 */
export const forgetMovedBuild = (folder, source = root) => {
  const cache = join(folder, 'CMakeCache.txt')
  if (existsSync(cache) && !readFileSync(cache, 'utf8').includes(`CMAKE_HOME_DIRECTORY:INTERNAL=${source}\n`)) {
    rmSync(cache)
    rmSync(join(folder, 'CMakeFiles'), { recursive: true, force: true })
  }
}

/**
 * Builds the programs of C++ cases, test/native, of the addon's own objects.
 *
 * @param {Sanitizer} [sanitize]
 * @returns {Promise<string>} the folder of core_test and cpu_test
 */
export const buildCases = async (sanitize) => {
  await buildAddon(sanitize)
  const folder = dirname(dirname(addonPath(sanitize)))
  const what = `building the C++ cases${sanitize ? ` (${sanitize} sanitizer)` : ''}`
  await withLock(sanitize ? `addon-${sanitize}` : 'addon', async () => {
    await runQuietly('cmake', ['-DCASES=ON', folder], { what })
    await runQuietly(
      'cmake',
      ['--build', folder, '--parallel', String(compilerCount()), '--target', 'core_test', 'cpu_test'],
      { what },
    )
  })
  return join(folder, 'cases')
}

/**
 * Builds dist/ from the TypeScript: plain tsc, and the files that lib/ needs beside it. Waits for tests of other
 * processes, which use dist/; what a test starts finds dist/ as it is.
 */
export const buildLib = async () => {
  if (isWithinDistUser()) return
  await withLock('lib', async () => {
    const sources = sourceFolders.flatMap((folder) => filesUnder(join(root, folder)))
    const newest = Math.max(...[...sources, join(root, 'tsconfig.json'), join(root, 'package.json')].map(modified))
    const listing = `${String(newest)} ${String(sources.length)}`
    if (
      existsSync(libStamp) &&
      readFileSync(libStamp, 'utf8') === listing &&
      existsSync(join(root, 'dist', 'lib', 'index.js'))
    )
      return
    await untilDistIsFree()
    mkdirSync(dirname(libStamp), { recursive: true })
    removeOrphans()
    await runQuietly(process.execPath, [tsc, '-p', root], { what: 'compiling the TypeScript' })
    copyAssets()
    writeFileSync(libStamp, listing)
  })
}

/** What is left in dist/ of a deleted source would still be tested and packed. */
const removeOrphans = () => {
  const made = /(\.js|\.d\.ts|\.js\.map)$/
  for (const path of filesUnder(join(root, 'dist')).filter((path) => made.test(path))) {
    const source = join(root, relative(join(root, 'dist'), path).replace(made, '.ts'))
    if (!existsSync(source)) rmSync(path)
  }
}

const copyAssets = () => {
  for (const path of filesUnder(join(root, 'lib'))) {
    if (!['.ts', '.md'].includes(extname(path))) cpSync(path, join(root, 'dist', relative(root, path)))
  }
}

/**
 * Has the compiler look at each file by itself; see above.
 *
 * @returns {Promise<void>}
 */
export const checkSeparately = () =>
  withLock('separate', async () => {
    const what = 'preparing the compilation of single files'
    const addon = join(root, 'build', 'separate', 'addon')
    const fakes = join(root, 'build', 'separate', 'fakes')
    const options = [
      '-DSEPARATE=ON',
      '-DCMAKE_BUILD_TYPE=Release',
      '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON',
      '-DCCACHE=OFF',
    ]
    const configure = (/** @type {string} */ source, /** @type {string} */ folder, /** @type {string[]} */ ...more) => {
      forgetMovedBuild(folder, source)
      return runQuietly('cmake', ['-S', source, '-B', folder, ...options, ...more], { what })
    }
    await configure(root, addon, '-DCASES=ON')
    await configure(join(root, 'test', 'fake'), fakes)
    await runQuietly('cmake', ['--build', fakes, '--target', 'abi'], { what })
    /** @type {{ directory: string, command: string, file: string }[]} */
    const commands = [addon, fakes].flatMap((folder) =>
      JSON.parse(readFileSync(join(folder, 'compile_commands.json'), 'utf8')),
    )
    const outcomes = await atOnce(commands, async ({ directory, command, file }) => {
      const { code, output } = await collect('/bin/sh', ['-c', `${command} -fsyntax-only -Werror`], { cwd: directory })
      if (code !== 0) say(`${relative(root, file)} does not compile by itself:\n${output.trimEnd()}`)
      return code === 0
    })
    const failed = outcomes.filter((fine) => !fine).length
    if (failed > 0) throw new Failure(`${failed} of ${outcomes.length} files do not compile by themselves`)
    say(`each of ${outcomes.length} files compiles by itself`)
  })

/**
 * Builds what demo and tests need.
 *
 * @param {Promise<unknown>[]} beside what else is under way and waited for, such as buildFakes()
 */
export const buildAll = (...beside) => together(buildAddon(), buildLib(), ...beside)

if (argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    const sanitize = /** @type {Sanitizer | undefined} */ (
      argv.find((word) => word.startsWith('--sanitize='))?.split('=')[1]
    )
    const known = [
      '--addon',
      '--lib',
      '--cases',
      '--separate',
      '--sanitize=address',
      '--sanitize=thread',
      '--sanitize=undefined',
    ]
    const unknown = argv.slice(2).find((word) => !known.includes(word))
    if (unknown) throw new Failure(`unknown option ${unknown}; known: ${known.join(', ')}`)
    if (argv.includes('--cases')) return console.log(await buildCases(sanitize))
    if (argv.includes('--separate')) return checkSeparately()
    if (sanitize) return buildAddon(sanitize)
    if (argv.includes('--lib')) return buildLib()
    if (argv.includes('--addon')) return buildAddon()
    await buildAll()
  })
}
