// The checks of the reference's site find what they are for: a link that leads nowhere, a page whose links name files
// that are no pages.
import { deflateSync } from 'node:zlib'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../fake/build.js'

interface Links {
  readonly checkLinks: (folder: string) => { readonly links: number; readonly broken: readonly string[] }
}
interface Pages {
  readonly withLinks: (text: string, path: string, pages: ReadonlySet<string>) => string
}

const { checkLinks } = (await import(join(root, 'scripts', 'docs', 'links.mjs'))) as Links
const { withLinks } = (await import(join(root, 'scripts', 'docs', 'pages.mjs'))) as Pages

t.test('links of a site', (t) => {
  const menu = deflateSync(JSON.stringify([{ path: 'other.html' }, { children: [{ path: 'gone.html' }] }])).toString(
    'base64',
  )
  const folder = t.testdir({
    'index.html': [
      '<h1 id="top">A</h1><a href="#top">1</a><a href="sub/page.html#here">2</a><img src="picture.png">',
      '<a href="https://example.com/x">outside</a><a href="mailto:a@example.com">mail</a>',
      '<a href="#nowhere">3</a><a href="sub/none.html">4</a><a href="sub/page.html#gone">5</a><a href="sub/">6</a>',
    ].join('\n'),
    'other.html': '<a href="index.html?x=1#top">1</a>',
    'picture.png': '',
    sub: { 'page.html': '<p id="here"><a href="../index.html">1</a></p>' },
    assets: { 'navigation.js': `window.navigationData = "${menu}"` },
  })
  const { links, broken } = checkLinks(folder)
  t.equal(links, 3 + 4 + 1 + 1 + 2)
  t.same([...broken].sort(), [
    'index.html: #nowhere: no such anchor',
    'index.html: gone.html: no such file',
    'index.html: sub/: a folder',
    'index.html: sub/none.html: no such file',
    'index.html: sub/page.html#gone: no such anchor',
  ])
  t.end()
})

t.test('links of a page: to pages of the site, to pictures, to files of the repository', (t) => {
  const pages = new Set(['README.md', 'docs/guides/a.md', 'docs/architecture.md'])
  const hosted = 'https://github.com/node-tensorrt/node-tensorrt/blob/main'
  const link = (target: string, path: string): string => withLinks(`[x](${target})`, path, pages).slice(4, -1)
  t.equal(link(`${hosted}/docs/guides/a.md#part`, 'README.md'), './docs/guides/a.md#part')
  t.equal(link('../architecture.md', 'docs/guides/a.md'), '../architecture.md')
  t.equal(link('../../examples/x/README.md', 'docs/guides/a.md'), `${hosted}/examples/x/README.md`)
  t.equal(link('docs/demo.jpg', 'README.md'), './docs/demo.jpg')
  t.equal(link(`${hosted.replace('/blob/', '/raw/')}/docs/demo.jpg`, 'README.md'), './docs/demo.jpg')
  t.equal(link('#part', 'docs/guides/a.md'), '#part')
  t.equal(link('https://example.com/a.md', 'README.md'), 'https://example.com/a.md')
  t.equal(withLinks('```sh\n[x](a.md)\n```\n', 'README.md', pages), '```sh\n[x](a.md)\n```\n', 'code stays')
  t.end()
})
