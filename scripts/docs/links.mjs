// @ts-check
// Whether the links of a static site lead somewhere: each relative link of each page, and its anchor.
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { inflateSync } from 'node:zlib'
import { Parser } from 'htmlparser2'
import { filesUnder } from '../support.mjs'

/** @typedef {{ ids: Set<string>, links: string[] }} Page */

/**
 * The links that lead nowhere, each once for a page.
 *
 * @param {string} folder
 * @returns {{ links: number, broken: string[] }} `links`: how many were followed
 */
export function checkLinks(folder) {
  const files = new Set(filesUnder(folder))
  /** @type {Map<string, Page>} */
  const pages = new Map(
    [...files].filter((path) => path.endsWith('.html')).map((path) => [path, read(readFileSync(path, 'utf8'))]),
  )
  /** @type {string[]} */
  const broken = []
  let links = 0
  const follow = (/** @type {string} */ from, /** @type {string} */ link) => {
    links++
    const wrong = whatIsWrong(link, from, files, pages)
    if (wrong !== undefined) broken.push(`${relative(folder, from)}: ${link}: ${wrong}`)
  }
  for (const [path, page] of pages) for (const link of new Set(page.links)) follow(path, link)
  for (const link of navigation(join(folder, 'assets', 'navigation.js'))) follow(join(folder, 'index.html'), link)
  return { links, broken }
}

/**
 * @param {string} link
 * @param {string} from
 * @param {ReadonlySet<string>} files
 * @param {ReadonlyMap<string, Page>} pages
 */
function whatIsWrong(link, from, files, pages) {
  const [address = '', anchor = ''] = link.split('#')
  const [path = ''] = address.split('?')
  const target = path === '' ? from : resolve(dirname(from), decodeURIComponent(path))
  if (!files.has(target))
    return statSync(target, { throwIfNoEntry: false })?.isDirectory() ? 'a folder' : 'no such file'
  if (anchor !== '' && pages.get(target)?.ids.has(decodeURIComponent(anchor)) === false) return 'no such anchor'
  return undefined
}

/** The ids and the internal links of a page. @returns {Page} */
function read(/** @type {string} */ html) {
  const ids = /** @type {Set<string>} */ (new Set())
  const links = /** @type {string[]} */ ([])
  const parser = new Parser({
    onopentag(name, attributes) {
      if (attributes['id'] !== undefined) ids.add(attributes['id'])
      if (name === 'a' && attributes['name'] !== undefined) ids.add(attributes['name'])
      for (const attribute of ['href', 'src']) {
        const link = attributes[attribute]
        if (link !== undefined && link !== '' && link !== '#' && !/^([a-z][a-z+.-]*:|\/\/)/i.test(link))
          links.push(link)
      }
    },
  })
  parser.end(html)
  return { ids, links }
}

/** The links of the menu, which typedoc keeps as compressed JSON. @returns {string[]} */
function navigation(/** @type {string} */ path) {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return []
  const data = /"([A-Za-z0-9+/=]+)"/.exec(readFileSync(path, 'utf8'))?.[1] ?? ''
  /** @typedef {{ path?: string, children?: Entry[] }} Entry */
  /** @returns {string[]} */
  const linksOf = (/** @type {Entry} */ { path: link, children = [] }) =>
    /** @type {string[]} */ ([...(link === undefined ? [] : [link]), ...children.flatMap(linksOf)])
  return /** @type {Entry[]} */ (JSON.parse(inflateSync(Buffer.from(data, 'base64')).toString())).flatMap(linksOf)
}
