// @ts-check
// node scripts/commands.mjs: how either build system would build the addon, as JSON, without building it: { cmake, gyp
// }, each with its units (the sources that are compiled together), the compiler's defines, flags and folders of
// headers, and the linker's flags. What lies in the checkout begins with "./". test/package/sources.test.ts holds the
// developers' build against the one that is shipped. `lacks` is the reason if node-gyp cannot be asked here.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { argv, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { bin, Failure, main, root, runQuietly, withLock } from './support.mjs'
import { nodedir, stage } from './prebuilds.mjs'

/** @typedef {{ units: string[][], defines: string[], flags: string[], headers: string[], link: string[] }} Commands */

const folder = join(root, 'build', 'commands')
const what = 'asking the build systems what they would do'

/** The words of a command line, as a shell reads them; without variables and patterns. */
export const shellWords = (/** @type {string} */ text) =>
  Array.from(text.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g), ([word]) =>
    word.replace(
      /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g,
      (_, /** @type {string | undefined} */ double, /** @type {string | undefined} */ single, escaped) =>
        double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? escaped,
    ),
  )

/** The sources of a unit, or of what is none. */
const sourcesOf = (/** @type {string} */ path) => {
  const included = [...readFileSync(path, 'utf8').matchAll(/^#include "(native\/.*\.cc)"$/gm)].map(
    ([, source]) => source ?? '',
  )
  return included.length > 0 ? included : [path.slice(path.lastIndexOf('/native/') + 1)]
}

/**
 * The words of a command by their kind.
 *
 * @param {string[]} words
 * @param {string} base the checkout, or what stands for it
 */
const sorted = (words, base) => {
  const [defines, headers, flags] = /** @type {[string[], string[], string[]]} */ ([[], [], []])
  const named = (/** @type {string} */ word) =>
    word
      .replaceAll(`${base}/`, './')
      .replaceAll(`${root}/`, './')
      .replace(/^(-iquote) .*/, '$1 .')
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? ''
    if (['-iquote', '-isystem', '-I'].includes(word)) words[i + 1] = `${word} ${words[i + 1]}`
    else if (/^-(I|isystem )/.test(word)) headers.push(named(word.replace(/^-(I|isystem) ?/, '')))
    else if (word.startsWith('-D')) defines.push(word.slice(2))
    else flags.push(named(word))
  }
  const unique = (/** @type {string[]} */ list) => [...new Set(list)].sort()
  return { defines: unique(defines), headers: unique(headers), flags: unique(flags) }
}

/** @returns {Promise<Commands>} */
const cmake = async () => {
  const at = join(folder, 'cmake')
  const options = [
    '--out',
    at,
    '-G',
    'Unix Makefiles',
    '--log-level',
    'error',
    '--CDCMAKE_EXPORT_COMPILE_COMMANDS=ON',
    '--CDCCACHE=OFF',
  ]
  await runQuietly(bin('cmake-js'), ['configure', ...options], { what })
  /** @type {{ command: string, file: string }[]} */
  const commands = JSON.parse(readFileSync(join(at, 'compile_commands.json'), 'utf8'))
  // the compiler stands first, `-o OBJECT -c SOURCE` last
  const words = commands.flatMap(({ command }) => shellWords(command).slice(1, -4))
  const [, ...linker] = shellWords(readFileSync(join(at, 'CMakeFiles', 'node_tensorrt.dir', 'link.txt'), 'utf8'))
  const output = linker.indexOf('-o')
  const link = sorted(
    linker.filter((word, i) => i !== output && i !== output + 1 && !word.endsWith('.o')),
    root,
  )
  return { units: commands.map(({ file }) => sourcesOf(file)), ...sorted(words, root), link: link.flags }
}

/** @returns {Promise<Commands>} */
const gyp = async () => {
  const at = join(folder, 'gyp')
  stage(at)
  const headers = nodedir()
  await runQuietly(execPath, [bin('node-gyp'), 'configure', ...(headers ? [`--nodedir=${headers}`] : [])], {
    what,
    cwd: at,
  })
  const makefile = readFileSync(join(at, 'build', 'node_tensorrt.target.mk'), 'utf8')
  const variable = (/** @type {string} */ name) => {
    const [, lines = ''] = new RegExp(`^${name} :=((?:.*\\\\\\n)*.*)$`, 'm').exec(makefile) ?? []
    return lines.split(/[\s\\]+/).flatMap((word) => (word === '' ? [] : [word.replace(/^'(.*)'$/, '$1')]))
  }
  const objects = variable('OBJS').map((word) => word.replace('$(obj).target/$(TARGET)/', '').replace(/\.o$/, '.cc'))
  const words = ['DEFS', 'INCS', 'CFLAGS', 'CFLAGS_CC'].flatMap((name) => variable(`${name}_Release`))
  const link = sorted([...variable('LDFLAGS_Release'), ...variable('LIBS')], at)
  return { units: objects.map((path) => sourcesOf(resolve(at, path))), ...sorted(words, at), link: link.flags }
}

/** @returns {Promise<{ gyp: Commands } | { lacks: string }>} */
const gypOrReason = async () => {
  // node-gyp writes the path into a makefile without quotes
  if (!/^[\w/.+-]+$/.test(root)) return { lacks: `node-gyp cannot build in this path: ${root}` }
  try {
    return { gyp: await gyp() }
  } catch (error) {
    const said = error instanceof Failure ? error.message : ''
    if (!/^gyp http GET /m.test(said) || /^gyp http 200 /m.test(said)) throw error
    return { lacks: `node-gyp cannot fetch the headers of Node ${process.versions.node}` }
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await main(() =>
    withLock('commands', async () =>
      console.log(JSON.stringify({ cmake: await cmake(), ...(await gypOrReason()) }, null, 2)),
    ),
  )
}
