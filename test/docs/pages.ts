// The pages that people read, and what a test can hold of them: fences with what is said of each, headings, links.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../package/support.js'

/**
 * Where a fence is run: without a GPU and TensorRT, on the fakes of both, beside the real TensorRT-RTX, in a checkout
 * of the repository.
 */
export const machines = ['cpu', 'fakes', 'rtx', 'repository'] as const
export type Machine = (typeof machines)[number]

/** How a fence is to end. */
export type Ending =
  | { readonly kind: 'well' }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'exit'; readonly code: number }

export interface Fence {
  readonly page: string
  /** Of its first line of code, counted from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  readonly machine: Machine
  readonly ending: Ending
  /** Why it is not run. */
  readonly notRun?: string
  /** What it prints, as the fence below or a comment says; `…` is anything. */
  readonly output?: string
}

export interface Page {
  readonly path: string
  readonly text: string
  readonly fences: readonly Fence[]
  /** What is wrong with how the page is written. */
  readonly problems: readonly string[]
}

/** Languages of code that is run. */
export const codeLanguages = ['js', 'ts', 'sh']
const otherLanguages = ['', 'text', 'json', 'python', 'yaml', 'dockerfile', 'diff', 'mermaid', 'cpp', 'html']

/** All pages, from the repository's root, those that are there. */
export function pagePaths(): string[] {
  const under = (folder: string): string[] =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
          .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
          .map((path) => `${folder}/${path}`)
      : []
  const single = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'].filter((path) => existsSync(join(root, path)))
  return [...single, ...['docs', 'examples', 'docker'].flatMap(under)].sort()
}

const directive = /^\s*<!-- (runs on|not run|fails|output):? ?(.*?) ?-->$/

/** A page as it is written: its fences, and the directives above them. */
export function readPage(path: string, text = readFileSync(join(root, path), 'utf8')): Page {
  const lines = text.split('\n')
  const fences: Fence[] = []
  const problems: string[] = []
  let said: { line: number; name: string; value: string }[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ''
    const open = /^( *)```(\S*)$/.exec(line)
    const [, name, value = ''] = directive.exec(line) ?? []
    if (open) {
      const end = lines.findIndex((each, at) => at > i && each.trimEnd() === `${open[1] ?? ''}\`\`\``)
      if (end < 0) {
        problems.push(`${path}:${i + 1}: a fence without an end`)
        break
      }
      const code = lines.slice(i + 1, end).map((each) => each.slice(open[1]?.length))
      takeFence(path, i + 2, open[2] ?? '', code.join('\n') + '\n', said, fences, problems)
      said = []
      i = end
    } else if (name !== undefined) said.push({ line: i + 1, name, value })
    else {
      for (const each of said)
        problems.push(`${path}:${each.line}: the comment "${each.name}" stands on the line above a fence`)
      said = []
      if (/^\s*(```|~~~)/.test(line))
        problems.push(`${path}:${i + 1}: a fence begins with three backticks and a language`)
      if (/^\s*<!--\s*(runs?|not[ -]run|fails?|outputs?)\b/i.test(line))
        problems.push(`${path}:${i + 1}: unknown comment ${line.trim()}`)
    }
  }
  return { path, text, fences, problems }
}

function takeFence(
  page: string,
  line: number,
  language: string,
  text: string,
  said: readonly { name: string; value: string }[],
  fences: Fence[],
  problems: string[],
): void {
  const problem = (what: string): void => void problems.push(`${page}:${line}: ${what}`)
  const value = (name: string): string | undefined => said.find((each) => each.name === name)?.value
  if (value('output') === '') {
    const above = fences.at(-1)
    if (language !== 'text' || above === undefined || !codeLanguages.includes(above.language))
      problem('"output" stands above a fence of text that follows code')
    else fences[fences.length - 1] = { ...above, output: text }
    return
  }
  if (![...codeLanguages, ...otherLanguages].includes(language))
    problem(
      `the language is ${language}: write one of ${[...codeLanguages, ...otherLanguages].join(' ').replace('  ', ' ')}`,
    )
  const machine = value('runs on') ?? 'cpu'
  if (!machines.includes(machine as Machine)) problem(`runs on ${machine}: write one of ${machines.join(' ')}`)
  const notRun = value('not run')
  if (notRun?.trim() === '') problem('"not run" without a reason')
  const fails = value('fails')
  if (fails?.trim() === '') problem('"fails" without the error')
  const code = /^exit (\d+)$/.exec(fails ?? '')?.[1]
  const ending: Ending =
    fails === undefined
      ? { kind: 'well' }
      : code === undefined
        ? { kind: 'error', text: fails }
        : { kind: 'exit', code: Number(code) }
  const output = value('output')
  fences.push({
    page,
    line,
    language,
    text,
    machine: machine as Machine,
    ending,
    ...(notRun !== undefined && { notRun }),
    ...(output !== undefined && { output }),
  })
}

/** Whether a fence of JavaScript is CommonJS: its first line of code requires. */
export function isCommonJs({ language, text }: Fence): boolean {
  return language === 'js' && /^(?:\/\/.*\n|\s*\n)*const .*\brequire\(/.test(text)
}

/** A page without its fences and its inline code, where nothing is a link or a heading. */
function prose({ text }: Page): string {
  return text
    .replaceAll(/^( *)```[^]*?^ *```$/gm, '')
    .replaceAll(/(?<!`)(`+)(?!`)(?:(?!\n\n)[^])*?[^`]\1(?!`)/g, (code) =>
      code.startsWith('``') ? '' : code.slice(1, -1).replaceAll(/[[\]()]/g, ''),
    )
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: Page): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of prose(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const text = heading
      .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
    const slug = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-')
    let each = slug
    for (let i = 1; anchors.has(each); i++) each = `${slug}-${i}`
    anchors.add(each)
  }
  return anchors
}

/** Targets of links and pictures; of a reference that the page does not define, the reference. */
export function linksOf(page: Page): string[] {
  const text = prose(page)
  const defined = new Map(
    Array.from(text.matchAll(/^\[([^\]]+)\]: (\S+)$/gm), ([, name = '', target = '']) => [name, target]),
  )
  const inline = Array.from(text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g), ([, target = '']) => target)
  const references = Array.from(text.matchAll(/\]\[([^\]]+)\]/g), ([, name = '']) => name).filter(
    (name) => !defined.has(name),
  )
  return [...inline, ...defined.values(), ...references]
}
