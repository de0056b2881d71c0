// What every page is held to: its form, each fence compiled and run, or the reason why not.
import type { Test } from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { compile } from './compiling.js'
import { codeLanguages, type Fence, isCommonJs, type Page, pagePaths, readPage } from './pages.js'
import { Reader } from './running.js'

type Suite = Pick<Test, 'ok' | 'test' | 'teardown'>

/**
 * Tests all pages of a kind but README.md; with TRT_DOCS=docs/guides/threads.md only that page, and with
 * TRT_DOCS=docs/guides/threads.md:40 only the fence at that line.
 */
export async function testPagesThat(t: Suite, isWanted: (path: string) => boolean): Promise<void> {
  const [, only, line] = /^(.*?)(?::(\d+))?$/.exec(process.env['TRT_DOCS'] ?? '') ?? []
  const paths = pagePaths().filter((path) => path !== 'README.md' && isWanted(path))
  t.ok(paths.length > 0, 'there are pages')
  await testPages(
    t,
    paths.filter((path) => !only || path === only).map((path) => readPage(path)),
    line === undefined ? undefined : Number(line),
  )
}

/** @param only the line of a page whose fence alone is wanted */
export async function testPages(t: Suite, pages: readonly Page[], only?: number): Promise<void> {
  const fences = pages
    .flatMap((page) => page.fences)
    .filter(({ language, line, text }) => codeLanguages.includes(language) && isWanted(line, text, only))
  const reader = new Reader(temporaryFolder(t))
  // all at once, as many as the reader lets run; tests wait for theirs in the pages' order
  const compiling = compile(reader.folder, fences.filter(({ language }) => language !== 'sh')) // prettier-ignore
  const running = new Map(
    fences.filter((fence) => whyNotRun(reader, fence) === false).map((fence) => [fence, reader.run(fence)]),
  )
  const settled = Promise.allSettled([compiling, ...running.values()])
  for (const page of pages) {
    t.test(`${page.path}: how it is written`, async (t) => {
      t.same(page.problems, [])
    })
    for (const fence of fences.filter((each) => each.page === page.path)) {
      t.test(titleOf(fence), async (t) => {
        if (fence.language !== 'sh') t.equal((await compiling)(fence), '', 'it compiles')
        const skip = whyNotRun(reader, fence)
        if (skip === false) t.equal(await running.get(fence), '', 'it runs')
        else t.pass('it runs', { skip })
      })
    }
  }
  t.teardown(() => settled)
}

function isWanted(line: number, text: string, only: number | undefined): boolean {
  return only === undefined || (only >= line - 1 && only <= line + text.split('\n').length - 1)
}

function whyNotRun(reader: Reader, fence: Fence): string | false {
  return fence.notRun === undefined ? reader.whyNot(fence) : `the page says: ${fence.notRun}`
}

function titleOf(fence: Fence): string {
  const language = isCommonJs(fence) ? 'js, CommonJS' : fence.language
  return `${fence.page}:${fence.line} (${language}${fence.machine === 'cpu' ? '' : `, ${fence.machine}`})`
}
