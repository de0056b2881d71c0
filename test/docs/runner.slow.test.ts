// The runner itself: what is wrong with a page is told, and what is right is not.
import t from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { compile } from './compiling.js'
import { readPage } from './pages.js'
import { Reader } from './running.js'

const fenced = (language: string, text: string, ...comments: string[]): string =>
  [...comments.map((comment) => `<!-- ${comment} -->`), `\`\`\`${language}`, text, '```', ''].join('\n')

t.test('how a page is written', async (t) => {
  const wrong: readonly (readonly [page: string, problem: string])[] = [
    [fenced('js', '', 'not run:'), 'x.md:3: "not run" without a reason'],
    [fenced('js', '', 'fails:'), 'x.md:3: "fails" without the error'],
    [fenced('js', '', 'runs on: gpu'), 'x.md:3: runs on gpu: write one of cpu fakes rtx repository'],
    [
      fenced('bash', ''),
      'x.md:2: the language is bash: write one of js ts sh text json python yaml dockerfile diff mermaid cpp html',
    ],
    [fenced('text', '', 'output'), 'x.md:3: "output" stands above a fence of text that follows code'],
    ['<!-- runs on: rtx -->\n\n```js\n```\n', 'x.md:1: the comment "runs on" stands on the line above a fence'],
    ['<!-- run on: rtx -->\n', 'x.md:1: unknown comment <!-- run on: rtx -->'],
    ['```js\n', 'x.md:1: a fence without an end'],
    ['```js title\n```\n', 'x.md:1: a fence begins with three backticks and a language'],
  ]
  for (const [page, problem] of wrong) t.has(readPage('x.md', page).problems, [problem])
  const { fences, problems } = readPage(
    'x.md',
    `1. a list\n\n   ${fenced('js', '1', 'runs on: rtx', 'fails: exit 3').replaceAll('\n', '\n   ')}`,
  )
  t.same(problems, [])
  t.match(fences, [{ line: 6, text: '1\n', machine: 'rtx', ending: { kind: 'exit', code: 3 } }])
})

t.test('how a fence ends, and what it prints', async (t) => {
  const reader = new Reader(temporaryFolder(t))
  let count = 0
  const said = async (...args: Parameters<typeof fenced>): Promise<string> => {
    const name = `x${count++}.md`
    return await reader.run(readPage(name, fenced(...args)).fences[0]!)
  }
  t.equal(await said('js', 'console.log(1)', 'output: 1'), '')
  t.match(await said('js', 'console.log(12)', 'output: 1'), 'it did not print what the page says')
  t.equal(await said('js', 'console.log("a 7 b")', 'output: a … b'), '')
  t.match(await said('js', 'process.exitCode = 2'), /^it failed\nexit code 2/)
  t.match(await said('js', 'console.error(new RangeError("x"))'), 'it printed an error')
  t.match(await said('js', 'undefinedName'), 'ReferenceError: undefinedName')
  t.match(await said('js', 'await using x = 1'), 'plain JavaScript with `using`')
  t.equal(
    await said(
      'ts',
      'const x: number = 1\nawait using y = { [Symbol.asyncDispose]: async () => console.log(x) }',
      'output: 1',
    ),
    '',
  )
  t.equal(await said('js', 'const { readFileSync } = require("node:fs")\nreadFileSync("labels.txt")'), '')
  t.equal(await said('js', 'throw new Error("ERR_TRT_X")', 'fails: ERR_TRT_X'), '')
  t.match(await said('js', 'throw new Error("other")', 'fails: ERR_TRT_X'), 'it failed without ERR_TRT_X')
  t.match(await said('js', '1', 'fails: ERR_TRT_X'), 'it did not fail with ERR_TRT_X')
  t.match(await said('sh', 'true\nfalse\ntrue'), 'line 2 of the fence failed')
  t.equal(await said('sh', 'exit 3', 'fails: exit 3'), '')
  t.match(await said('sh', 'npx cowsay'), 'npx cowsay: only node-tensorrt runs without a network')
})

t.test('what TypeScript says is told of its fence', async (t) => {
  const page = readPage(
    'x.md',
    [
      fenced('ts', 'const x: string = 1'),
      fenced('js', 'const y = 1'),
      fenced('js', 'const { z } = require("node:fs")'),
    ].join('\n'),
  )
  const [first, second, third] = page.fences
  const reader = new Reader(temporaryFolder(t))
  const told = await compile(reader.folder, page.fences)
  t.match(told(first!), "Type 'number' is not assignable to type 'string'")
  t.equal(told(second!), '')
  t.match(told(third!), "has no exported member 'z'")
})
