/** Scores that cannot be what a decoder takes them for: the outputs of another kind of model. */
import { TensorRTError } from '../../errors.js'
import { type CandidateRule, findCandidates, type Found, type Scores } from './candidates.js'
import { type Output, shapesText } from './outputs.js'

/** How far a probability may be outside of 0 to 1: what half precision and quantization round. */
const slack = 1e-3

/** Whether it lies outside of 0 to 1; NaN does. */
export const isNoProbability = (score: number): boolean => !(score >= -slack && score <= 1 + slack)

/** Where scores come from. */
export interface Source {
  readonly outputs: readonly Output[]
  /**
   * What outputs with this score look like, and what to do: the end of a message. The class is -1 for an objectness.
   */
  readonly looksLike: (score: number, classIndex: number) => string
  /** Whether rows behind the last box may have negative scores. */
  readonly isPadded?: boolean | undefined
}

/**
 * The candidates of a picture, whose scores are probabilities.
 * @throws TensorRTError ERR_TRT_SHAPE where the model gives no probabilities, or no logits where a sigmoid follows
 */
export function candidatesOf(parts: readonly Scores[], rule: CandidateRule, source: Source): Found {
  checkScores(parts, { isLogit: rule.sigmoid }, source)
  const found = findCandidates(parts, rule)
  const [best] = found.scores
  if (best !== undefined && isNoProbability(best)) throw noProbability(best, found.classes[0]!, source)
  return found
}

export function noProbability(score: number, classIndex: number, { outputs, looksLike }: Source): TensorRTError {
  const of = classIndex < 0 ? 'an objectness' : `a score of class ${classIndex}`
  const [value, hint] = Number.isNaN(score)
    ? ['NaN', 'the model computes no numbers here, as a float16 model does where a value exceeds 65504']
    : [String(Number(score.toPrecision(6))), looksLike(score, classIndex)]
  return new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected scores of 0 to 1 but found ${of} that is ${value}, in ${shapesText(outputs)}: ${hint}`,
    {
      details: { shapes: outputs.map(({ shape }) => shape), score, classIndex },
    },
  )
}

/** Of each picture so many boxes are looked at, evenly spread, and about so many scores. */
const [mostBoxes, mostScores] = [64, 8192]

/** So many logits that all lie in 0 to 1 by chance are none. */
const fewestLogits = 64

/**
 * Looks at all scores of some boxes, since a keypoint or an angle that is read as a class need not be the greatest of
 * its box; and for NaN, which may fill a part of a picture alone, at one score of each.
 * @throws TensorRTError ERR_TRT_SHAPE
 */
export function checkScores(
  parts: readonly Scores[],
  { isLogit }: { readonly isLogit: boolean },
  source: Source,
): void {
  const total = parts.reduce((sum, { count }) => sum + count, 0)
  const classes = Math.max(1, ...parts.map((part) => part.classes))
  const stride = Math.max(1, Math.ceil(total / Math.min(mostBoxes, Math.ceil(mostScores / classes))))
  let [seen, greatest, areUnit] = [0, 0, true]
  const look = (value: number, classIndex: number): void => {
    const isOutside = isNoProbability(value)
    const isWrong = isOutside && (!isLogit || Number.isNaN(value)) && !(value < 0 && source.isPadded === true)
    if (isWrong) throw noProbability(value, classIndex, source)
    areUnit &&= !isOutside
    greatest = Math.max(greatest, value)
    seen++
  }
  let box = 0
  for (const { values, count, classes: own, step, classStep, objectness, objectnessStep = 1 } of parts) {
    const first = objectness ?? values
    const firstStep = objectness === undefined ? step : objectnessStep
    for (let i = 0; i < count; i++)
      if (Number.isNaN(first[i * firstStep])) throw noProbability(NaN, objectness === undefined ? 0 : -1, source)
    for (; box < count; box += stride) {
      if (objectness !== undefined) look(objectness[box * objectnessStep]!, -1)
      for (let c = 0; c < own; c++) look(values[box * step + c * classStep]!, c)
    }
    box -= count
  }
  // the logits of what is nowhere in a picture are far below 0
  if (isLogit && areUnit && greatest > 0 && seen >= fewestLogits) throw noLogits(source)
}

function noLogits({ outputs }: Source): TensorRTError {
  const message = `Expected logits but found scores of 0 to 1 alone, in ${shapesText(outputs)}: they look like probabilities, of a model that ends in a sigmoid; a decoder with the option activation takes them by activation: 'none'`
  return new TensorRTError('ERR_TRT_SHAPE', message, { details: { shapes: outputs.map(({ shape }) => shape) } })
}
