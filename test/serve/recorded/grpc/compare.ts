// What differs between the answers of a real Triton and ours over gRPC.
import type { Test } from 'tap'
import { type Difference, differenceOf, lines, named } from '../compare.js'
import { add, namedOnes } from '../replay.js'
import { callAll, type GrpcAnswer, type GrpcAsk, type RecordedCall, recordOfCall } from './ask.js'

/** Makes all these calls, and compares what comes with the record in that file. */
export async function callDifferences(
  t: Test,
  file: string,
  calls: readonly GrpcAsk[],
  port: number,
): Promise<Record<string, Difference>> {
  const records = new Map((await lines<RecordedCall>(file)).map((record) => [record.name, record]))
  t.same([...records.keys()].sort(), calls.map(({ name }) => name).sort(), 'the record is of these calls')
  const differing: Record<string, Difference> = {}
  await callAll(calls, port, (ask, answers) => {
    const { answers: theirs = [], ...asked } = records.get(ask.name) ?? {}
    const { answers: ours, ...asking } = recordOfCall(ask, answers)
    if (JSON.stringify(asked) !== JSON.stringify(asking))
      t.fail(`the record of '${ask.name}' is of another call: record it anew`)
    const each = ours.map(
      (answer, i) => [ours.length > 1 ? String(i) : '', answerDifference(theirs[i], answer)] as const,
    )
    add(differing, ask.name, named(each))
  })
  return differing
}

/** Of an error where there was none, or the other way round, it is all of ours. */
function answerDifference(theirs: GrpcAnswer | undefined, ours: GrpcAnswer): Difference {
  if (theirs === undefined) return { '': ours }
  if ((theirs.code === 'OK') !== (ours.code === 'OK')) return { ...ours }
  return differenceOf(byModel(theirs), byModel(ours))
}

/** Index and statistics by name and version. */
function byModel({ messages, ...rest }: GrpcAnswer): unknown {
  if (messages === undefined) return rest
  return { ...rest, messages: messages.map(byName) }
}

function byName(message: unknown): unknown {
  const { models, model_stats } = message as {
    readonly models?: readonly object[]
    readonly model_stats?: readonly object[]
  }
  const list = models ?? model_stats
  return list === undefined ? message : namedOnes(list)
}
