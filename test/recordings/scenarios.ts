// All that a recording has, in order. Who adds a scenario records anew where there is a library for it; until then it
// is compared with nothing (README.md).
import { building } from './scenarios/building.js'
import { calibrating } from './scenarios/calibrating.js'
import { configuring } from './scenarios/configuring.js'
import { parsing } from './scenarios/parsing.js'
import { refitting } from './scenarios/refitting.js'
import { running } from './scenarios/running.js'
import type { Scenario } from './scenarios/scenario.js'

export const scenarios: readonly Scenario[] = [
  ...parsing,
  ...configuring,
  ...building,
  ...calibrating,
  ...running,
  ...refitting,
]
