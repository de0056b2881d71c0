import { elementwise } from './elementwise.js'
import { matrices } from './matrices.js'
import type { Rule } from './node.js'
import { parts } from './parts.js'
import { resizing, windows } from './windows.js'
import { shapes } from './shapes.js'

const rules: ReadonlyMap<string, Rule> = new Map(
  Object.entries({ ...elementwise, ...windows, ...matrices, ...shapes, ...parts, ...resizing }),
)

/** What says the types and shapes of what an operator of ONNX gives. */
export function ruleOf(operator: string): Rule | undefined {
  return rules.get(operator)
}

export function isKnownOperator(operator: string): boolean {
  return rules.has(operator)
}
