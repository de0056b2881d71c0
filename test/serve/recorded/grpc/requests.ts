// The recorded calls, in the order in which they are sent: later ones see what earlier ones did.
import type { GrpcAsk } from './ask.js'
import { controlCalls } from './asks/control.js'
import { faultCalls } from './asks/faults.js'
import { outputCalls } from './asks/outputs.js'
import { readCalls } from './asks/reads.js'
import { streamCalls } from './asks/streams.js'
import { typeCalls } from './asks/types.js'

export const calls: readonly GrpcAsk[] = [
  ...readCalls,
  ...typeCalls,
  ...faultCalls,
  ...outputCalls,
  ...streamCalls,
  ...controlCalls,
]
