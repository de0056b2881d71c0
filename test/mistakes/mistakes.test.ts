// See table.ts.
import t from 'tap'
import { useFakes } from '../native/fakes.js'
import { nameOf, problemOf, type Row } from './table.js'
import { rooms } from './rooms.js'

// before the addon looks for a driver
await useFakes()

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

/** So many mistakes the tables have at least: a row goes only where another comes. */
const least = 1000

let count = 0

for (const [name, parts] of Object.entries(rooms))
  t.test(name, async (t) => {
    const things: { close(): Promise<void> | void }[] = []
    const use = <T extends { close(): Promise<void> | void }>(thing: T): T => {
      things.push(thing)
      return thing
    }
    const names = new Set<string>()
    for (const [i, part] of parts.entries()) {
      const rows: readonly Row[] = await part({ folder: t.testdir({ [i]: {} }), use })
      for (const row of rows) {
        const problem = await problemOf(row)
        if (problem !== undefined) t.fail(`${nameOf(row)}: ${problem}`)
        if (names.has(nameOf(row))) t.fail(`${nameOf(row)}: twice`)
        names.add(nameOf(row))
      }
    }
    for (const thing of things.reverse()) await thing.close()
    count += names.size
    t.pass(`${names.size} mistakes`)
  })

t.test('how many', (t) => {
  t.comment(`${count} mistakes`)
  t.ok(count >= least, `${count} of ${least}`)
  t.end()
})
