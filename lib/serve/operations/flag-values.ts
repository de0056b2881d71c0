// Values of flags, checked by the table.
import { nearName } from '../../base/options.js'
import { type FlagRule, flagRules } from '../flags.js'

/** What is wrong with a command line. */
export class FlagError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FlagError'
  }
}

/** The texts that a flag was given, by its name without dashes, in their order; of a switch, an empty one. */
export type GivenFlags = ReadonlyMap<string, readonly string[]>

const rules = new Map(flagRules.map((rule) => [rule.name, rule]))

/** What to say of a flag that is not in the table. */
export function unknownFlag(text: string): FlagError {
  const [flag = ''] = text.split('=')
  const name = flag.replace(/^-+/, '')
  if (rules.get(name)?.value === 'switch') return new FlagError(`--${name} takes no value`)
  const names = [...rules.keys()]
  // Triton takes names that are cut short
  const meant = names.find((full) => name.length > 2 && full.startsWith(name)) ?? nearName(name, names)
  return new FlagError(`unknown flag ${flag}${meant === undefined ? '' : `: did you mean --${meant}?`}`)
}

/** @throws FlagError for a value that a flag does not take, and for a flag that is refused */
export function checkedFlags(given: GivenFlags): { readonly flags: Flags; readonly ignored: readonly string[] } {
  for (const name of given.keys()) given.get(name)?.forEach((text) => check(ruleOf(name), text))
  const ignored = [...given.keys()].map(ruleOf).filter(({ use }) => use === 'ignored')
  return { flags: new Flags(given), ignored: ignored.map(noteOf) }
}

function noteOf({ name, about }: FlagRule): string {
  return `--${name} has no effect: ${about}`
}

function ruleOf(name: string): FlagRule {
  const rule = rules.get(name)
  if (rule === undefined) throw unknownFlag(`--${name}`)
  return rule
}

function check(rule: FlagRule, text: string): void {
  checkValue(rule, text)
  if (rule.use !== 'refused') return
  const isAccepted = rule.accepted?.some((value) =>
    rule.value === 'boolean' ? truth(text) === truth(value) : text.toLowerCase() === value,
  )
  if (isAccepted !== true) throw new FlagError(`--${rule.name} is refused: ${rule.about}`)
}

function checkValue(rule: FlagRule, text: string): void {
  const { name, value, choices } = rule
  const wrong = (what: string): FlagError =>
    new FlagError(`Expected ${what} for --${name} but received ${JSON.stringify(text)}`)
  if (value === 'boolean' && truth(text) === undefined) throw wrong('true or false')
  if ((value === 'whole' || value === 'number' || value === 'level') && !isNumber(rule, text))
    throw wrong(numberText(rule))
  if (value === 'text' && text === '') throw wrong('a text')
  if (choices !== undefined && !choices.includes(text.toLowerCase())) throw wrong(`one of ${choices.join(', ')}`)
}

function isNumber({ value, least = -Infinity, most = Infinity }: FlagRule, text: string): boolean {
  const number = value === 'level' ? levelOf(text) : numberOf(text)
  return (
    (value === 'number' ? Number.isFinite(number) : Number.isSafeInteger(number)) && number >= least && number <= most
  )
}

function numberText({ value, least, most }: FlagRule): string {
  const kind = value === 'number' ? 'a number' : 'a whole number'
  if (least === undefined) return kind
  return most === undefined ? `${kind} of at least ${least}` : `${kind} from ${least} to ${most}`
}

function numberOf(text: string): number {
  return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : NaN
}

/** As Triton's --log-verbose: true is 1, false is 0. */
function levelOf(text: string): number {
  const small = text.toLowerCase()
  return small === 'true' ? 1 : small === 'false' ? 0 : numberOf(text)
}

export function truth(text: string): boolean | undefined {
  const small = text.toLowerCase()
  if (['true', 'on', '1'].includes(small)) return true
  return ['false', 'off', '0'].includes(small) ? false : undefined
}

/** Values of flags that were checked; nothing where a flag was not given. */
export class Flags {
  readonly #given: GivenFlags

  constructor(given: GivenFlags) {
    this.#given = given
  }

  text(name: string): string | undefined {
    return this.#given.get(name)?.at(-1)
  }

  texts(name: string): readonly string[] | undefined {
    return this.#given.get(name)
  }

  whole(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : numberOf(text)
  }

  level(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : levelOf(text)
  }

  isTrue(name: string): boolean | undefined {
    return truth(this.text(name) ?? '')
  }

  has(name: string): boolean {
    return this.#given.has(name)
  }
}
