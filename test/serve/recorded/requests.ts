// The recorded requests, in the order in which they are sent: later ones see what earlier ones did.
import type { Ask } from './ask.js'
import { bodyAsks } from './asks/bodies.js'
import { controlAsks } from './asks/control.js'
import { faultAsks } from './asks/faults.js'
import { outputAsks } from './asks/outputs.js'
import { queueAsks } from './asks/queue.js'
import { readAsks } from './asks/reads.js'
import { statisticsAsks } from './asks/statistics.js'
import { typeAsks } from './asks/types.js'

export const asks: readonly Ask[] = [
  ...readAsks,
  ...typeAsks,
  ...faultAsks,
  ...bodyAsks,
  ...outputAsks,
  ...queueAsks,
  ...controlAsks,
  ...statisticsAsks,
]
