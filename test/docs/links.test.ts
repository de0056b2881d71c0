// Links of all pages: what lies in the repository is there, anchors too.
import { existsSync } from 'node:fs'
import { join, normalize } from 'node:path'
import t from 'tap'
import { root } from '../package/support.js'
import { anchorsOf, linksOf, type Page, pagePaths, readPage } from './pages.js'

const repository = /^https:\/\/github\.com\/node-tensorrt\/node-tensorrt\/(?:blob|tree|raw)\/main\//
/** As the package's README has pictures that npm's site is to show, too. */
const raw = /^https:\/\/raw\.githubusercontent\.com\/node-tensorrt\/node-tensorrt\/main\//
const pages = new Map(pagePaths().map((path) => [path, readPage(path)]))

/** Where a link leads in the repository, and its anchor; undefined where it leads elsewhere. */
function placeOf(page: Page, link: string): { path: string; anchor: string } | undefined {
  const own = repository.test(link) || raw.test(link)
  if (!own && /^[a-z]+:/i.test(link)) return undefined
  const [target = '', anchor = ''] = link.replace(repository, '').replace(raw, '').split('#')
  const path = own ? target : target === '' ? page.path : normalize(join(page.path, '..', target))
  return { path: decodeURIComponent(path).replace(/\/$/, ''), anchor }
}

/** What is wrong with a link. */
function brokenBy(page: Page, link: string): string | undefined {
  const place = placeOf(page, link)
  if (place === undefined) return undefined
  if (place.path.startsWith('..')) return 'it leads out of the repository'
  if (!pages.has(place.path) && !existsSync(join(root, place.path))) return `there is no ${place.path}`
  const target = pages.get(place.path)
  if (place.anchor !== '' && target !== undefined && !anchorsOf(target).has(place.anchor))
    return `${place.path} has no heading #${place.anchor}`
  return undefined
}

t.test('links within the repository lead somewhere', async (t) => {
  const links = [...pages.values()].flatMap((page) => linksOf(page).map((link) => ({ page, link })))
  t.ok(links.filter(({ page, link }) => placeOf(page, link) !== undefined).length > 10, 'there are some')
  const broken = links
    .map(({ page, link }) => ({ page: page.path, link, why: brokenBy(page, link) }))
    .filter(({ why }) => why !== undefined)
  t.same(broken, [])
})

t.test('README.md is read from the installed package, too: its links are absolute', async (t) => {
  const readme = pages.get('README.md')
  t.same(readme === undefined ? [] : linksOf(readme).filter((link) => !/^(https:\/\/|#)/.test(link)), [])
})

t.test('a link that leads nowhere is found, and one that does is none', async (t) => {
  const page = readPage(
    'docs/x.md',
    '# One: `two`, three\n\n[a](testing.md) [b](#one-two-three) ![c](none.png "title") [d](testing.md#none) `[e](none.md)`\n[f][g] [h][i]\n\n[g]: testing.md\n',
  )
  t.same(linksOf(page), ['testing.md', '#one-two-three', 'none.png', 'testing.md#none', 'testing.md', 'i'])
  pages.set(page.path, page)
  t.same(
    linksOf(page).map((link) => brokenBy(page, link)),
    [
      undefined,
      undefined,
      'there is no docs/none.png',
      'docs/testing.md has no heading #none',
      undefined,
      'there is no docs/i',
    ],
  )
})
