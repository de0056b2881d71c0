import { checkedArray, checkedWhole } from '../../base/checks.js'
import { checkedOptions, is, needed, option, type OptionTable } from '../../base/option-table.js'
import { expected } from '../../errors.js'
import { forEachPicture, onlyOutput, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'

/** Options of {@link decodeCtc}. */
export interface CtcOptions {
  /**
   * What the classes are, in their order, without the blank: the lines of the model's dictionary, and a space behind
   * them where it was trained with one (PP-OCR's are).
   */
  readonly characters: readonly string[]
  /** The class that says nothing; default 0. */
  readonly blank?: number | undefined
  /** What makes probabilities of the output; default `none`: it has them. `softmax` of logits. */
  readonly activation?: 'none' | 'softmax' | undefined
}

const table = {
  characters: needed(checkedCharacters),
  blank: option((value) => value, 0), // one of the characters' classes
  activation: option(is.choice('none', 'softmax'), 'none'),
} satisfies OptionTable<CtcOptions>

function checkedCharacters(value: unknown, name: string): readonly string[] {
  const characters = checkedArray(value, name)
  const wrong = characters.findIndex((character) => typeof character !== 'string')
  if (wrong >= 0) throw expected('a string', `${name}[${wrong}]`, characters[wrong])
  return characters as string[]
}

/** A line of text that was read. */
export interface DecodedText {
  /** The text. */
  readonly text: string
  /** The mean probability of its characters, 0 to 1; 0 where there is no text. */
  readonly score: number
  /** The probability of each character, 0 to 1. */
  readonly scores: Float32Array
  /** The time step of each character: of T steps from left to right of the picture. */
  readonly steps: Int32Array
}

/**
 * What a recognizer with CTC gives, [N, T, C]: at each step the best class is taken, the lower of equal ones; repeated
 * ones count once, the blank not at all (greedy decoding, as PP-OCR has it).
 * @throws TensorRTError ERR_TRT_SHAPE where C is not the number of characters and the blank, ERR_TRT_DTYPE,
 * ERR_TRT_INVALID_ARGUMENT
 */
export function decodeCtc(outputs: Outputs, options: CtcOptions): DecodedText[] {
  const { characters, activation, ...given } = checkedOptions(options, table, 'decodeCtc')
  const blank = checkedWhole(given.blank, 'blank', 0, characters.length)
  const isLogit = activation === 'softmax'
  const classes = characters.length + 1
  const wanted = `[N, steps, ${classes}] (${characters.length} characters and the blank)`
  const output = onlyOutput(outputsOf(outputs), 3, wanted)
  if (output.shape[2] !== classes) throw wrongShape(wanted, [output])
  return forEachPicture(output.shape[0]!, (index) => {
    return read(pictureOf(output, index), classes, { characters, blank, isLogit })
  })
}

interface Reading {
  readonly characters: readonly string[]
  readonly blank: number
  readonly isLogit: boolean
}

function read(values: Float32Array, classes: number, { characters, blank, isLogit }: Reading): DecodedText {
  const [found, steps, scores]: [string[], number[], number[]] = [[], [], []]
  let before = blank
  for (let step = 0; step * classes < values.length; step++) {
    const at = step * classes
    const best = bestOf(values, at, classes)
    if (best !== blank && best !== before) {
      found.push(characters[best < blank ? best : best - 1]!)
      steps.push(step)
      scores.push(isLogit ? shareOf(values, at, classes, best) : values[at + best]!)
    }
    before = best
  }
  const score = scores.length === 0 ? 0 : scores.reduce((sum, value) => sum + value, 0) / scores.length
  return { text: found.join(''), score, scores: Float32Array.from(scores), steps: Int32Array.from(steps) }
}

/** Of equal ones the lowest. */
function bestOf(values: Float32Array, at: number, classes: number): number {
  let [best, most] = [0, -Infinity]
  for (let c = 0; c < classes; c++) {
    const value = values[at + c]!
    if (value > most) [best, most] = [c, value]
  }
  return best
}

/** Its softmax; it is the greatest. */
function shareOf(values: Float32Array, at: number, classes: number, best: number): number {
  let sum = 0
  for (let c = 0; c < classes; c++) sum += Math.exp(values[at + c]! - values[at + best]!)
  return 1 / sum
}
