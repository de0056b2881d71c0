// @ts-check
// node scripts/error-page.mjs [--check]: the part of docs/guides/errors.md between its two marks, made of the comments
// of errorCodes in lib/errors.ts, and of lib/base/remedies.ts (as it was compiled: after npm run build). --check writes
// nothing, and fails where the page has another text.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv, env } from 'node:process'
import { pathToFileURL } from 'node:url'
import { Failure, main, root, say } from './support.mjs'

const columns = 120
const page = join(root, 'docs', 'guides', 'errors.md')
const marks = [
  '<!-- made by scripts/error-page.mjs of lib/errors.ts and lib/base/remedies.ts: edit those -->',
  '<!-- the end of what is made -->',
]

/**
 * @typedef {{ code: string, meaning: string, when: string, message: string, remedy: string, details: string }} Entry
 */

/** The groups of codes, in their order, each with its codes. */
const groupsOf = (/** @type {string} */ source) => {
  const body = source.slice(source.indexOf('export const errorCodes = {'), source.indexOf('} as const'))
  /** @type {{ title: string, entries: Entry[] }[]} */
  const groups = []
  for (const [, title, comment = '', code = '', , meaning = ''] of body.matchAll(
    /^ {2}\/\/ (.+)$|^ {2}\/\*\*\n((?: {3}\*.*\n)+?) {3}\*\/\n {2}(ERR_TRT_\w+):\s+(['"])(.+)\4,$/gm,
  )) {
    if (title !== undefined) groups.push({ title, entries: [] })
    else groups.at(-1)?.entries.push({ code, meaning, ...partsOf(comment, code) })
  }
  const found = groups.flatMap(({ entries }) => entries).length
  const there = body.match(/^ {2}ERR_TRT_\w+:/gm)?.length ?? 0
  if (found !== there)
    throw new Failure(
      `lib/errors.ts: ${there - found} codes have no comment of the form that errorCodes tells, or no group`,
    )
  return groups
}

/** The paragraphs of a code's comment. */
const partsOf = (/** @type {string} */ comment, /** @type {string} */ code) => {
  const text = comment.replace(/^ {3}\* ?/gm, '').trim()
  const [when = '', ...others] = text.split(/\n\n+/).map((part) => part.replaceAll('\n', ' '))
  const part = (/** @type {string} */ label) =>
    others.find((each) => each.startsWith(`${label}: `))?.slice(label.length + 2) ?? ''
  const [, message = ''] = /^`(.+)`$/.exec(part('Message')) ?? []
  if (when === '' || message === '') throw new Failure(`lib/errors.ts: ${code} lacks when it comes, or a message`)
  return { when, message, remedy: part('Remedy'), details: part('Details') }
}

/** What mends it where a machine lacks something, by what it is for. */
const remediesOf = async () => {
  for (const name of ['TENSORRT_PATH', 'ONNXRUNTIME_PATH', 'CUDA_VISIBLE_DEVICES']) delete env[name]
  const compiled = join(root, 'dist', 'lib', 'base', 'remedies.js')
  if (!existsSync(compiled)) throw new Failure('dist is missing: run npm run build first')
  /** @type {typeof import('../lib/base/remedies.js')} */
  const { driverRemedy, remedyOf } = await import(pathToFileURL(compiled).href)
  const gpu = remedyOf('ERR_TRT_NO_GPU')
  const orBuild = remedyOf('ERR_TRT_NO_GPU', { need: 'building' })
    .slice(gpu.length)
    .replace(/^; or /, '')
  const driver = (/** @type {boolean} */ inContainer, /** @type {boolean} */ hasDevices) =>
    driverRemedy({ inContainer, hasDevices })
  /** @type {Record<string, [when: string, remedy: string][]>} */
  const remedies = {
    ERR_TRT_PLATFORM: [['', remedyOf('ERR_TRT_PLATFORM')]],
    ERR_TRT_NO_ADDON: [['', remedyOf('ERR_TRT_NO_ADDON')]],
    ERR_TRT_NO_LIBRARY: [
      ['No path was given', remedyOf('ERR_TRT_NO_LIBRARY')],
      ['For a plan', remedyOf('ERR_TRT_NO_LIBRARY', { plan: 'TensorRT 10.15.1' })],
      ['A path was given', remedyOf('ERR_TRT_NO_LIBRARY', { path: '/opt/tensorrt' })],
    ],
    ERR_TRT_NO_DRIVER: [
      ['On a machine without GPU devices', driver(false, false)],
      ['With GPU devices, without the library', driver(false, true)],
      ['In a container without GPU devices', driver(true, false)],
      ['In a container with them', driver(true, true)],
      ['To build', orBuild],
    ],
    ERR_TRT_NO_GPU: [
      ['There is none', gpu],
      ['There are others', remedyOf('ERR_TRT_NO_GPU', { gpus: '1' })],
      ['To build', orBuild],
    ],
    ERR_TRT_NO_ONNXRUNTIME: [
      ['It is not installed', remedyOf('ERR_TRT_NO_ONNXRUNTIME')],
      [
        'It is installed and cannot be loaded',
        remedyOf('ERR_TRT_NO_ONNXRUNTIME', { package: 'node_modules/onnxruntime-node' }),
      ],
      ['A path was given', remedyOf('ERR_TRT_NO_ONNXRUNTIME', { path: '/opt/onnxruntime' })],
      [
        'Another one is loaded',
        remedyOf('ERR_TRT_NO_ONNXRUNTIME', { path: '/opt/onnxruntime', loaded: '/usr/lib/libonnxruntime.so.1' }),
      ],
    ],
    ERR_TRT_VIDEO_PROGRAM: [
      ['It is missing or too old', remedyOf('ERR_TRT_VIDEO_PROGRAM')],
      ['A path was given', remedyOf('ERR_TRT_VIDEO_PROGRAM', { by: 'the option ffmpeg' })],
      ['It lacks an encoder', remedyOf('ERR_TRT_VIDEO_PROGRAM', { encoder: 'libx264' })],
    ],
  }
  return remedies
}

/** Lines of at most so many columns; a word that is longer has a line of its own. */
const wrapped = (/** @type {string} */ text, first = '', rest = first) => {
  /** @type {string[]} */
  const lines = []
  let line = first
  for (const word of text.split(' ')) {
    const isFirst = line === first || line === rest
    if (!isFirst && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = rest
    }
    line += line === first || line === rest ? word : ` ${word}`
  }
  return [...lines, line]
}

const sentence = (/** @type {string} */ text) =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.…]$/.test(text) ? '' : '.'}`

const entryText = (
  /** @type {Entry} */ { code, meaning, when, message, remedy, details },
  /** @type {Awaited<ReturnType<typeof remediesOf>>} */ remedies,
) => {
  const found = remedies[code] ?? (remedy === '' ? [] : [['', remedy]])
  if (found.length === 0)
    throw new Failure(`${code} has neither a remedy in lib/errors.ts nor one in lib/base/remedies.ts`)
  return [
    `### ${code}`,
    '',
    ...wrapped(`**${sentence(meaning)}** ${when}`),
    '',
    '```text',
    ...wrapped(message),
    '```',
    '',
    ...found.flatMap(([on, text = '']) =>
      wrapped(on === '' ? `**What mends it**: ${text}` : `**${on}**: ${text}`, '- ', '  '),
    ),
    ...(details === '' ? [] : wrapped(`**Details**: ${details}`, '- ', '  ')),
    '',
  ]
}

await main(async () => {
  const groups = groupsOf(readFileSync(join(root, 'lib', 'errors.ts'), 'utf8'))
  const remedies = await remediesOf()
  const lines = groups.flatMap(({ title, entries }) => [
    `## ${title}`,
    '',
    ...entries.flatMap((entry) => entryText(entry, remedies)),
  ])
  const before = readFileSync(page, 'utf8')
  const [from, to] = marks.map((mark) => before.indexOf(mark))
  if (from === undefined || to === undefined || from < 0 || to < from)
    throw new Failure(`${page} lacks its two marks: ${marks.join(' ')}`)
  const after = [before.slice(0, from) + marks[0], '', ...lines, before.slice(to)].join('\n')
  if (after === before) return
  if (argv.includes('--check'))
    throw new Failure(
      'docs/guides/errors.md is not what lib/errors.ts and lib/base/remedies.ts make: run node scripts/error-page.mjs',
    )
  writeFileSync(page, after)
  say('docs/guides/errors.md is written')
})
