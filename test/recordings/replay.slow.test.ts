// What real libraries were recorded to do (README.md), held against the fakes that stand for them.
import t from 'tap'
import { inspectedLayers } from '../../lib/benchmark/inspector.js'
import { buildFakes } from '../fake/build.js'
import { differences, lineOf, placeOf } from './compare.js'
import { nameOf, noDriver, partsOf, play, readRecording, recordingNames, textOf } from './files.js'
import { known } from './known.js'
import type { Json, Recording } from './recorder.js'
import { rules } from './unheld.js'

const fakes = await buildFakes()

/** The fake that stands for a library, and what makes it, and its driver, one of that version on such a GPU. */
function standIn({
  kind,
  version,
  gpu,
}: Recording): { readonly path: string; readonly env: NodeJS.ProcessEnv } | undefined {
  const paths: Readonly<Record<string, string>> = {
    'full 10': fakes.trt10,
    'full 11': fakes.trt11,
    'rtx 1': fakes.rtx17,
  }
  const path = paths[`${kind} ${version.split('.')[0] ?? ''}`]
  const driver = gpu === undefined ? noDriver : fakes.cuda
  const env = { FAKE_TRT_VERSION: version, FAKE_CUDA_COMPUTE_CAPABILITY: gpu, NODE_TENSORRT_LIBCUDA: driver }
  return path === undefined ? undefined : { path, env }
}

const isText = (value: Json | undefined): value is string => typeof value === 'string'

const names = recordingNames()
t.ok(names.length > 0, 'there is a recording')
t.same(
  Object.keys(known).filter((name) => !names.includes(name)),
  [],
  'what is known is of recordings that are there',
)

for (const name of names) {
  await t.test(name, async (t) => {
    const recorded = await readRecording(name)
    if (recorded === undefined) throw new Error(name)
    t.equal(nameOf(recorded), name, 'its name says what it is of')

    await t.test('the fake does the same', async (t) => {
      const fake = standIn(recorded)
      if (fake === undefined) return t.fail(`no fake stands for ${name}`)
      const { recording, failure } = await play(fake.path, fake.env)
      t.equal(failure, undefined, 'the fake came to the end')
      t.equal(nameOf(recording), name, 'it poses as that library')
      const found = differences('fake', recorded, recording)
      const expected = new Map((known[name] ?? []).flatMap(({ differences }) => Object.entries(differences)))
      const isKnown = (place: string, played: Json | undefined): boolean =>
        expected.has(place) && JSON.stringify(expected.get(place)) === JSON.stringify(played ?? null)
      const unknown = found.filter((difference) => !isKnown(placeOf(difference), difference.played))
      const count = Object.values(recorded.scenarios).flat().length
      t.same(unknown.map(lineOf), [], `${count} observations`)
      const places = new Set(found.map(placeOf))
      const stale = [...expected.keys()].filter((place) => !places.has(place))
      t.same(stale, [], `each of ${expected.size} known differences is one still`)
    })

    for (const { method, arguments: args, answer } of Object.values(recorded.scenarios).flat()) {
      const { text, layers } = (method === "inspector's document" ? answer : {}) as Readonly<Record<string, Json>>
      if (isText(text))
        t.same(
          inspectedLayers(text),
          layers,
          `the product reads what an inspector wrote as it did then: ${JSON.stringify(args)}`,
        )
    }
  })
}

t.test('a rule of what is not held fits something', async (t) => {
  const all = await Promise.all(names.map(readRecording))
  const hasGpu = all.some((recording) => recording?.gpu !== undefined)
  const places = all.flatMap((recording) =>
    Object.values(recording?.scenarios ?? {})
      .flat()
      .flatMap(({ method, answer, error }) =>
        placesIn({ answer: answer ?? null, error: error ?? null }, '').map((path) => `${method} ${path}`),
      ),
  )
  for (const { path, reason, gpu } of rules)
    if (!gpu || hasGpu)
      t.ok(
        places.some((place) => path.test(place)),
        `${String(path)}: ${reason}`,
      )
})

await t.test('the parts of a recording, concatenated, are its file', async (t) => {
  for (const name of names) {
    const recorded = await readRecording(name)
    if (recorded === undefined) throw new Error(name)
    const [whole] = partsOf(recorded, 2 ** 24)
    t.equal(whole?.name, `${name}.json`)
    const parts = partsOf(recorded, 10_000)
    t.ok(parts.length > 1 && parts.every(({ bytes }) => bytes.length <= 10_000))
    t.strictSame(
      parts.map((part) => part.name),
      parts.map((_, i) => `${name}.json.${i}`),
    )
    t.ok(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(Buffer.from(textOf(recorded))))
  }
})

/** Of each value within a value. */
function placesIn(value: Json, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path]
  const entries = Object.entries(value as Readonly<Record<string, Json>>)
  return [path, ...entries.flatMap(([name, field]) => placesIn(field, path === '' ? name : `${path}.${name}`))]
}
