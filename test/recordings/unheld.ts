// What of a recording is held against what, in one place. What no rule is about is held against everything: a fake, and
// the same library another time.
import type { Json, Observation } from './recorder.js'

interface Rule {
  /** Of `METHOD answer.FIELD.FIELD`, or of `METHOD error.FIELD`. */
  readonly path: RegExp
  readonly reason: string
  /**
   * What becomes of the value. Unless given there is its kind in its place, `<number>`, since it varies: that there is
   * one is held against all. `same library`: it is recorded, and held against that library only, not against a fake.
   * `text`: it is recorded for readers and parsers, and held against nothing.
   */
  readonly kept?: 'same library' | 'text'
  /** Fits only what needs a GPU. */
  readonly gpu?: true
}

export const rules: readonly Rule[] = [
  { path: / answer(\.\w+)*\.\w+Ms$/, reason: 'times differ from run to run' },
  { path: / answer\.(builtAt|builtBy|system)$/, reason: 'when and where it was built' },
  {
    path: / answer\.settings\.(workspace|tacticDram|tacticSharedMemory)$/,
    reason: 'limits that nobody set are those of the machine',
  },
  { path: / answer\.gpu$/, reason: 'which GPU is here', gpu: true },
  {
    path: /^Plan\.inspect answer\.(size|sha256)$/,
    reason: 'plans differ in their bytes from build to build, and are of another form in a fake',
  },
  { path: /^Plan\.inspect error\.(message|details\.(size|expected))$/, reason: 'the same: the size is told' },
  { path: / error\.details\.remedy$/, reason: 'what mends it is the matter of the machine' },
  { path: / error\.details\.reason$/, reason: "the library's own words", kept: 'same library' },
  { path: / answer\.timingCache\.bytes\w+$/, reason: 'a timing cache has the kernels of that GPU', gpu: true },
  {
    path: /^Engine\.load, with a limit error\.(message|details\.bytes)$/,
    reason: 'the same, and that of the plan is told',
    gpu: true,
  },
  { path: /^Engine\.memory answer\.\w+$/, reason: 'memory is as the kernels need it', gpu: true },
  {
    path: /^Engine\.layers answer\.(precisions|count)$/,
    reason: 'which kernels there are, and what they take',
    gpu: true,
  },
  { path: /^inspector's document answer\.layer$/, reason: 'what is fused into what', kept: 'same library', gpu: true },
  {
    path: /^inspector's document answer\.text$/,
    reason: 'it names the kernels that were the fastest that time',
    kept: 'text',
    gpu: true,
  },
  {
    path: /^inspector's document answer\.layers$/,
    reason: 'the same, as the product reads it',
    kept: 'text',
    gpu: true,
  },
  {
    path: /^calls answer\.all$/,
    reason: 'how much memory an output has at most, and what TensorRT allocates for itself',
    kept: 'text',
    gpu: true,
  },
  {
    path: /^calibration cache answer\.scale$/,
    reason: 'how TensorRT makes a range of a histogram',
    kept: 'same library',
    gpu: true,
  },
  {
    path: /^calibration cache answer\.text$/,
    reason: 'which values have a range, depends on what is fused',
    kept: 'text',
    gpu: true,
  },
]

/** The rule for a place in what came of a call, if there is one. */
export const ruleFor = (method: string, path: string): Rule | undefined =>
  rules.find((rule) => rule.path.test(`${method} ${path}`))

/** With the kind of each value that varies in its place. */
export function masked({ method, arguments: args, ...came }: Observation): Observation {
  const mask = (value: Json, path: string): Json => {
    const rule = ruleFor(method, path)
    if (rule && !rule.kept) return `<${Array.isArray(value) ? 'array' : typeof value}>`
    if (Array.isArray(value)) return value.map((each: Json, i) => mask(each, `${path}.${i}`))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, mask(field, `${path}.${name}`)]))
  }
  return {
    method,
    arguments: args,
    ...Object.fromEntries(Object.entries(came).map(([name, value]) => [name, mask(value, name)])),
  }
}
