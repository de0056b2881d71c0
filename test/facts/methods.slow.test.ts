// The addon's table of methods and enumerations against the facts, and both against real headers where they are found.
import t from 'tap'
import {
  enums,
  factRows,
  families,
  minor,
  normalize,
  vtables,
  type EnumRow,
  type Family,
  type MethodRow,
} from './facts.js'
import {
  cargoHeaders,
  haveCompiler,
  headerMinor,
  indexesFromHeaders,
  namedHeaders,
  type HeaderSet,
  type Row,
} from './headers.js'

interface Tables {
  methodTable(): MethodRow[]
  enumTable(): EnumRow[]
}

async function load(): Promise<Tables | string> {
  try {
    // Not a literal: this file is also compiled where the addon's loader does not exist yet.
    const path = '../../lib/backend/native.js'
    const native = (await import(path)) as { loadAddon(): Tables }
    return native.loadAddon()
  } catch (error) {
    return `the addon cannot be loaded: ${(error as Error).message}`
  }
}

const tables = await load()
const trouble = typeof tables === 'string' ? tables : ''
const addon = typeof tables === 'string' ? undefined : tables
// A broken addon must not look like a passing test, except where the caller says that there is none.
const skip = trouble && process.env['FACTS_WITHOUT_ADDON'] ? trouble : false

t.test('the facts agree with themselves', (t) => {
  const problems: string[] = []
  for (const family of families) {
    for (const [name, rows] of Object.entries(vtables[family].interfaces)) {
      rows.forEach(([index], position) => {
        if (index !== position) problems.push(`${family} ${name}: row ${position} has index ${index}`)
      })
    }
  }
  t.same(problems, [], 'every table is dense and in order')
  t.end()
})

t.test('every method of the addon stands in the facts, in every family that has it', { skip }, (t) => {
  if (!addon) return (void t.fail(trouble), t.end())
  const rows = addon.methodTable()
  t.ok(rows.length > 50, `${rows.length} rows`)
  const problems: string[] = []
  for (const row of rows) {
    const label = `${row.interface}::${row.method}(${row.parameters})`
    for (const family of families) {
      const facts = factRows(family, row.interface)
      const fact = facts.find(
        (each) => each.method === row.method && normalize(each.parameters) === normalize(row.parameters),
      )
      const slot = row.slots[family]
      if (!fact && !slot) continue
      if (!fact || !slot) {
        problems.push(
          `${label} in ${family}: the facts have ${fact ? fact.index : 'nothing'}, the addon has ${slot ? slot.index : 'nothing'}`,
        )
        continue
      }
      if (slot.index !== fact.index)
        problems.push(`${label} in ${family}: index ${slot.index}, the facts say ${fact.index}`)
      const first = minor(vtables[family].versions[0] ?? '0.0')
      // Since the family's first version may be written as 0.
      const since = (value: number) => (value <= first ? first : value)
      if (since(slot.since) !== since(fact.since))
        problems.push(`${label} in ${family}: since ${slot.since}, the facts say ${fact.since}`)
    }
    if (!families.some((family) => row.slots[family])) problems.push(`${label} is in no family`)
  }
  t.same(problems, [], `${rows.length} methods compared`)
  t.end()
})

t.test('every enumeration value of the addon stands in the facts', { skip }, (t) => {
  if (!addon) return (void t.fail(trouble), t.end())
  const rows = addon.enumTable()
  t.ok(rows.length > 10, `${rows.length} rows`)
  const problems: string[] = []
  for (const row of rows) {
    for (const family of families) {
      const fact = (enums[family][row.enum] ?? enums[family][`nvonnxparser::${row.enum}`])?.[row.name]
      const value = row.values[family]
      if (!fact && !value) continue
      const label = `${row.enum}::${row.name} in ${family}`
      if (!fact || !value)
        problems.push(
          `${label}: the facts have ${fact ? fact[0] : 'nothing'}, the addon has ${value ? value.number : 'nothing'}`,
        )
      else if (value.number !== fact[0]) problems.push(`${label}: ${value.number}, the facts say ${fact[0]}`)
      else if (Math.max(value.since, minor(vtables[family].versions[0] ?? '0.0')) !== minor(fact[1]))
        problems.push(`${label}: since ${value.since}, the facts say ${minor(fact[1])}`)
    }
  }
  t.same(problems, [], `${rows.length} values compared`)
  t.end()
})

// How a C++ return type of the fakes travels, in the words of headers.ts.
function kindOf(type: string): string {
  if (type === 'void' || type === 'bool' || type === 'float') return type
  if (/[*&]$/.test(type) || type === 'cudaStream_t' || type === 'cudaEvent_t' || type === 'ErrorDesc') return 'pointer'
  if (type === 'Dims' || type === 'Weights') return 'memory'
  if (type === 'InterfaceInfo') return 'registers'
  return /^(std::)?(size_t|int64_t|uint64_t)$/.test(type) ? 'word' : 'int'
}

interface Returns {
  returns: Record<string, Record<string, string | Record<string, string>>>
}

async function realHeaders(): Promise<HeaderSet[] | string> {
  if (!(await haveCompiler())) return 'no c++'
  const named = await namedHeaders()
  return named.length ? named : cargoHeaders()
}
const headers = await realHeaders()

t.test('real headers', { skip: typeof headers === 'string' ? headers : false }, async (t) => {
  if (typeof headers === 'string') return
  const generator = new URL('../fake/returns.mjs', import.meta.url).pathname.replace('/dist/', '/')
  const { returns } = (await import(generator)) as Returns
  for (const set of headers) await t.test(set.family, (t) => compare(t, set, returns))
})

async function compare(t: Tap, set: HeaderSet, returns: Returns['returns']): Promise<void> {
  const family = set.family as Family
  const version = await headerMinor(set)
  const problems: string[] = []
  // The facts: all that the fakes declare, and their return types. One compilation serves them and the addon's rows.
  const rows: (Row & { index: number; kind?: string })[] = []
  for (const [name, methods] of Object.entries(returns)) {
    for (const fact of factRows(family, name)) {
      const type = methods[`${fact.method}(${fact.parameters})`] ?? methods[fact.method]
      if (!type || fact.since > version || fact.method === '~') continue
      const overloaded = factRows(family, name).filter((each) => each.method === fact.method).length > 1
      if (overloaded && !methods[`${fact.method}(${fact.parameters})`]) continue
      rows.push({
        interface: name,
        ...fact,
        kind: kindOf(typeof type === 'string' ? type : (type[family] ?? type['trt11'] ?? '')),
      })
    }
  }
  const own = rows.length
  for (const row of addon?.methodTable() ?? []) {
    const slot = row.slots[family]
    if (slot && slot.since <= version && row.method !== '~') rows.push({ ...row, index: slot.index })
  }
  // Two that cannot be found show that the others were looked for.
  const nonsense = [
    { interface: 'VRuntime', method: 'noSuchMethod', parameters: '' },
    { interface: 'VRuntime', method: 'deserializeCudaEngine', parameters: 'int32_t,bool' },
  ]
  const found = await indexesFromHeaders(set, [...rows, ...nonsense])
  if (found.slice(rows.length).some(Boolean)) problems.push('a method that does not exist was found')
  rows.forEach((row, position) => {
    const real = found[position]
    const label = `${row.interface}::${row.method}(${row.parameters}) ${position < own ? 'of the fakes' : 'of the addon'}`
    if (!real) problems.push(`${label}: not in the headers`)
    else if (real.index !== row.index) problems.push(`${label}: ${row.index}, the headers say ${real.index}`)
    else if (row.kind && real.kind !== row.kind)
      problems.push(`${label}: returns ${row.kind}, the headers say ${real.kind}`)
  })
  t.same(problems, [], `${own} rows of the fakes and ${rows.length - own} of the addon against ${set.folder}`)
}

type Tap = { same(found: unknown, wanted: unknown, message: string): unknown }
