// The site of the reference in a browser, as wide as a telephone and as a desk's screen: nothing is wider than the
// page, the menu opens, the search finds.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, copyFile, readdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from '../fake/build.js'

const run = promisify(execFile)
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
const folders = (process.env['PATH'] ?? '').split(delimiter)
const browser = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
const skip = browser === undefined && 'no Chromium: apt-get install chromium-headless-shell'

/** What a page tells of itself. */
interface Seen {
  readonly width: number
  /** How wide its content is. */
  readonly content: number
  /** Those that reach beyond it, by tag and class. */
  readonly wide: readonly string[]
  readonly menu: boolean
  readonly found: readonly string[]
}

/** Runs in the page: measures it, then opens its menu, then searches. */
const inPage = `
const done = (seen) => { document.documentElement.dataset.seen = JSON.stringify(seen) }
const until = (what, every = 20) => new Promise((resolve) => { const look = () => what() ? resolve() : setTimeout(look, every); look() })
addEventListener('load', async () => {
  const { clientWidth: width, scrollWidth: content } = document.documentElement
  const isScrolled = (each) => each.closest('pre, table, dialog') !== null
  const beyond = [...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right > width + 1 && !isScrolled(each))
  const wide = content > width ? beyond.map((each) => each.tagName + '.' + each.className) : []
  const trigger = document.querySelector('#tsd-toolbar-menu-trigger')
  const menu = document.querySelector('.site-menu')
  if (getComputedStyle(trigger).display !== 'none')
    for (const type of ['mousedown', 'mouseup', 'click']) trigger.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true }))
  await until(() => menu.getBoundingClientRect().right <= width + 1 && menu.querySelector('a[href*="modules/"]'))
  const isSeen = menu.getBoundingClientRect().width > 100
  document.querySelector('#tsd-search-trigger').click()
  const input = document.querySelector('#tsd-search-input')
  await until(() => document.querySelector('#tsd-search').open && !input.disabled)
  const results = document.querySelector('#tsd-search-results')
  input.value = 'engine'
  // it searches once nothing has been typed for a while
  await until(() => { const found = results.querySelector('a'); if (!found) input.dispatchEvent(new Event('input')); return found }, 1000)
  done({ width, content, wide, menu: isSeen, found: [...results.querySelectorAll('a')].map((link) => link.textContent) })
})`

async function seenIn(page: string, width: number, profile: string): Promise<Seen> {
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', `--user-data-dir=${profile}`]
  const wait = ['--virtual-time-budget=60000', `--window-size=${width},900`, '--dump-dom']
  const { stdout } = await run(browser!, [...args, ...wait, pathToFileURL(page).href], { maxBuffer: 1 << 28 })
  const seen = /data-seen="([^"]*)"/.exec(stdout)?.[1]
  if (seen === undefined) throw new Error(`${page} has told nothing: its menu or its search did not come`)
  return JSON.parse(
    seen.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
  ) as Seen
}

t.test('the site at 390 and at 1280 pixels', { skip }, async (t) => {
  const folder = t.testdir()
  const site = join(folder, 'under', 'a', 'path')
  await run(process.execPath, [join(root, 'scripts', 'docs.mjs'), '--out', site], { cwd: root })
  const documents = (await readdir(join(site, 'pages'))).map((name) => join('pages', name))
  const modules = (await readdir(join(site, 'modules'))).map((name) => join('modules', name))
  t.ok(modules.length >= 6, 'each entry point has a page')
  const others = [
    'classes/node-tensorrt.Engine',
    'interfaces/node-tensorrt.BuilderOptions',
    'functions/node-tensorrt_vision.toTensor',
  ]
  const pages = [
    'index.html',
    ...documents,
    ...modules,
    ...others.map((name) => `${name}.html`),
    'variables/node-tensorrt.errorCodes.html',
  ]
  for (const page of pages) {
    // a copy beside it, so that its links are the same
    const copy = join(site, dirname(page), 'page-under-test.html')
    await copyFile(join(site, page), copy)
    await appendFile(copy, `<script>${inPage}</script>`)
    for (const width of [390, 1280]) {
      const { content, wide, menu, found, ...seen } = await seenIn(copy, width, join(folder, 'profile'))
      t.equal(seen.width, width, `${page} at ${width} pixels`)
      t.same({ content, wide }, { content: width, wide: [] }, 'nothing is wider than the page')
      t.ok(menu, 'the menu is seen')
      t.match(found.join('\n'), /Engine/, 'the search finds')
    }
  }
})
