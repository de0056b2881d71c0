// @ts-check
// The pages of the site that are no reference: README, guides, architecture. Copied to a folder where their links name
// pages of the site where there is one, and files of the repository elsewhere.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, posix, relative } from 'node:path'
import { filesUnder, root } from '../support.mjs'

/** Where the repository is read by people. */
export const repository = 'https://github.com/node-tensorrt/node-tensorrt'
const branch = 'main'

/** In the order of a reader; pages that are not named here follow by name. */
const order = [
  'README',
  'first-engine',
  'dynamic-shapes',
  'precision',
  'pictures-and-tasks',
  'service',
  'threads',
  'command-line',
  'from-onnxruntime-node',
  'from-python',
  'bundlers',
  'errors',
]
const pictures = new Set(['.png', '.jpg', '.jpeg', '.gif', '.svg', '.webp', '.avif'])

/** @typedef {{ readme: string, documents: string[] }} Pages absolute paths of the copies */

/** Copies the pages to a folder, which is emptied first. @returns {Pages} */
export function copyPages(/** @type {string} */ folder) {
  rmSync(folder, { recursive: true, force: true })
  const documents = [
    ...guides(),
    'docs/serving.md',
    'docs/architecture.md',
    'docs/glossary.md',
    ...pagesIn('design'),
  ].filter((path) => existsSync(join(root, path)))
  const pages = new Set(['README.md', ...documents])
  for (const path of filesUnder(join(root, 'docs'))) if (isPicture(path)) copy(folder, relative(root, path))
  for (const path of pages) {
    const text = withLinks(readFileSync(join(root, path), 'utf8'), path, pages)
    write(join(folder, path), path === 'README.md' ? text : frontMatter(text, path) + text)
  }
  return { readme: join(folder, 'README.md'), documents: documents.map((path) => join(folder, path)) }
}

/** The pages of a folder of docs/, by name. */
function pagesIn(/** @type {string} */ folder) {
  const names = readdirSync(join(root, 'docs', folder)).filter((name) => name.endsWith('.md'))
  return names.sort().map((name) => posix.join('docs', folder, name))
}

/** The guides that are there. */
function guides() {
  const folder = join(root, 'docs', 'guides')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.md')) : []
  const place = (/** @type {string} */ name) =>
    (order.indexOf(basename(name, '.md')) + order.length + 1) % (order.length + 1)
  return names
    .sort((a, b) => place(a) - place(b) || a.localeCompare(b))
    .map((name) => posix.join('docs', 'guides', name))
}

const isPicture = (/** @type {string} */ path) => pictures.has(extname(path).toLowerCase())

function copy(/** @type {string} */ folder, /** @type {string} */ path) {
  const to = join(folder, path)
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(join(root, path), to)
}

function write(/** @type {string} */ path, /** @type {string} */ text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** A page is called as its heading in the navigation, and in its address as its file. */
function frontMatter(/** @type {string} */ text, /** @type {string} */ path) {
  const title = /^# +(.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? basename(path, '.md')
  const page = basename(path, '.md').replace('README', 'guides')
  return `---\ntitle: ${JSON.stringify(title)}\npage: ${page}\ngroup: ${path.startsWith('docs/guides/') ? 'Guides' : 'Project'}\n---\n`
}

/**
 * Links outside of code fences: to a page of the site by its relative path, to any other file of the repository by its
 * address.
 *
 * @param {string} text
 * @param {string} path of the page, from the root
 * @param {ReadonlySet<string>} pages
 */
export function withLinks(text, path, pages) {
  const place = (/** @type {string} */ target) => placed(target, path, pages)
  return text
    .split(/^(```[^]*?^```.*$)/m)
    .map((part, i) =>
      i % 2 === 1
        ? part.replace(/^```\n/, '```text\n') // else it would be taken for TypeScript
        : part
            .replace(/(\]\()([^()\s]+)(?=[)\s])/g, (_, before, target) => before + place(target))
            .replace(/^(\[[^\]]+\]:\s+)(\S+)/gm, (_, before, target) => before + place(target))
            .replace(/((?:src|href)=")([^"]+)(?=")/g, (_, before, target) => before + place(target)),
    )
    .join('')
}

function placed(/** @type {string} */ target, /** @type {string} */ from, /** @type {ReadonlySet<string>} */ pages) {
  const file = fileOf(target, from)
  if (file === undefined) return target
  const { path, anchor } = file
  if (!pages.has(path) && !isPicture(path)) return `${repository}/blob/${branch}/${path}${anchor}`
  const way = posix.relative(posix.dirname(from), path)
  return (way.startsWith('.') ? way : `./${way}`) + anchor
}

/** The file of the repository that a link names, whether by its address or by its path. */
function fileOf(/** @type {string} */ target, /** @type {string} */ from) {
  const [address = '', anchor] = target.split('#')
  const hash = anchor === undefined ? '' : `#${anchor}`
  const hosted =
    /^https:\/\/(?:raw\.githubusercontent\.com\/node-tensorrt\/node-tensorrt|github\.com\/node-tensorrt\/node-tensorrt\/(?:blob|raw|tree))\/main\/(.+)$/
  const named = hosted.exec(address)?.[1]
  if (named !== undefined) return { path: posix.normalize(named), anchor: hash }
  if (address === '' || /^[a-z][a-z+.-]*:|^\//i.test(address)) return undefined
  return { path: posix.join(posix.dirname(from), address), anchor: hash }
}
