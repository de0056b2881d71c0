/** Messages of the API, for people who gave flags: options in them become the flags of the command. */

/** Options whose flag has another name. Any other option has the flag of its own name, if the command has that flag. */
const flagsByOption: Readonly<Record<string, readonly string[]>> = {
  scoreThreshold: ['--threshold'],
  'batching.maxBatch': ['--max-batch', '--batch'],
  'tensorrt.library': ['--tensorrt'],
  computeCapabilities: ['--compute-capability'],
  auxiliaryStreams: ['--max-aux-streams'],
  plugins: ['--plugin'],
}

/** Groups of options that the command line leaves out. */
const groups = ['input', 'output', 'blur', 'cpu', 'tensorrt', 'builder', 'batching', 'suppress']

const name = String.raw`[a-zA-Z]\w*`
/** A value in code. A number without braces around it may be a figure: `batch: 4`. */
const value = String.raw`'[^']*'|true|false`

/** `output: { activation: 'none' }`, `input: { size }`, `backend: 'cpu'`, each with braces around it or without. */
const code = new RegExp(
  String.raw`(?<open>\{ )?\b(?<group>${name}): (?:\{ (?<inner>${name})(?:: (?<innerValue>${value}|-?[\d.]+))? \}|(?<plain>${value}))(?<close> \})?`,
  'g',
)

/** `tensorrt: { builder: { plugins } }` */
const nested = new RegExp(String.raw`\b(?<group>${name}): \{ (?<inner>${name}: \{ [^{}]* \}) \}`, 'g')

/** `shapes: { "images": { min: [1, 3], opt: [1, 3], max: [8, 3] } }` */
const shapes = /\bshapes: \{ ((?:"[^"]*": \{ min: \[[^\]]*\], opt: \[[^\]]*\], max: \[[^\]]*\] \}(?:, )?)+) \}/g
const range = /"([^"]*)": \{ min: \[([^\]]*)\], opt: \[([^\]]*)\], max: \[([^\]]*)\] \}/g

/** `for input.size but received …`, `for plugins[0] but …`, `key of rates`. */
const wanted = new RegExp(String.raw`\b(for|key of) (${name}(?:\.${name})*)(?:\[\d+\])?(?= but | needs |$)`, 'g')

/** `the option shapes`. */
const option = new RegExp(String.raw`\b(?:the )?[Oo]ption (${name}(?:\.${name})*)`, 'g')

/**
 * Returns a function that replaces options in messages by flags.
 * @param known The long flags of the command, such as `--threshold`
 */
export function flagSpelling(known: readonly string[]): (message: string) => string {
  const flagOf = (path: string): string | undefined => {
    const names = path.split('.')
    const last = names.at(-1)!
    const isInGroup = names.slice(0, -1).every((each) => groups.includes(each))
    const paths = isInGroup ? [path, last] : [path]
    return paths
      .flatMap((each) => [...(flagsByOption[each] ?? []), flagNamed(each)])
      .find((flag) => known.includes(flag))
  }
  const inCode = (whole: string, ...rest: unknown[]): string => {
    const { open, group = '', inner, innerValue, plain, close } = rest.at(-1) as Partial<Record<string, string>>
    const given = innerValue ?? plain
    const flag = given === 'false' ? undefined : flagOf(inner === undefined ? group : `${group}.${inner}`)
    // with others between the same braces it stays code
    if (flag === undefined || (open === undefined) !== (close === undefined)) return whole
    return given === undefined || given === 'true' ? flag : `${flag} ${given.replaceAll("'", '')}`
  }
  const inWords = (whole: string, before: string, path: string): string => {
    const flag = flagOf(path)
    return flag === undefined ? whole : `${before} ${flag}`
  }
  return (message) => {
    const ranges = known.includes('--min-shapes')
      ? message.replace(shapes, (_, list: string) => shapeFlags(list))
      : message
    const flat = ranges.replace(nested, (whole, group: string, inner: string) => {
      const spelled = groups.includes(group) ? inner.replace(code, inCode) : inner
      return spelled === inner ? whole : spelled
    })
    return flat
      .replace(code, inCode)
      .replace(wanted, inWords)
      .replace(option, (whole, path: string) => flagOf(path) ?? whole)
  }
}

/** `maxSide` is `--max-side`, `http.port` is `--http-port`. */
function flagNamed(path: string): string {
  return `--${path.replaceAll('.', '-').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The ranges of inputs as three flags. */
function shapeFlags(list: string): string {
  const found = [...list.matchAll(range)]
  const flag = (end: string, at: number): string =>
    `--${end}-shapes ${found.map((match) => `${match[1]}:${match[at]!.replaceAll(', ', 'x')}`).join(',')}`
  return [flag('min', 2), flag('opt', 3), flag('max', 4)].join(' ')
}
