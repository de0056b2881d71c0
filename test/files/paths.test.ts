// Options that take a path take a path, a URL, and the URL written out.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { checkedRows, placeRows } from '../../lib/base/option-table.js'
import { checkedTimingCache } from '../../lib/building/timing-cache.js'
import { checkedCache } from '../../lib/cache/options.js'
import { cpuRows } from '../../lib/engine/cpu-options.js'

const wanted = resolve('a folder', 'fïle')

/** What becomes of a path, by the name of its option in messages. */
const takers: Readonly<Record<string, (path: unknown) => unknown>> = {
  'tensorrt.library': (library) => checkedRows({ tensorrt: { library } }, placeRows).tensorrt.library,
  cache: (cache) => checkedCache(cache)?.folder,
  folder: (folder) => checkedCache({ folder })?.folder,
  timingCache: (timingCache) => checkedTimingCache({ timingCache }).timingCache?.path,
  'cpu.library': (library) => checkedRows({ cpu: { library } }, cpuRows).cpu.library,
}

for (const [option, taken] of Object.entries(takers))
  t.test(option, (t) => {
    for (const path of ['a folder/fïle', wanted, pathToFileURL(wanted), pathToFileURL(wanted).href])
      t.equal(taken(path), wanted, String(path))
    for (const [wrong, why] of [
      ['', /Expected a path or a file: URL for /],
      ['a\0b', /Expected a path or a file: URL for /],
      [new URL('https://example.org/x'), /no file of this machine/],
      ['https://example.org/x', /no file of this machine/],
    ] as const)
      t.throws(() => taken(wrong), { code: 'ERR_TRT_INVALID_ARGUMENT', message: why }, String(wrong))
    t.throws(() => taken('https://example.org/x'), { message: new RegExp(` for ${option} `) })
    t.end()
  })
