// Shapes between clients and a model: rows of a batch, and `reshape` of the config.
import { hasRows, type RequestRules, type TensorRule } from './request-checks.js'

/** The shape that the model takes for the shape of a request, which was checked. */
export function modelShape(rules: RequestRules, rule: TensorRule, shape: readonly number[]): readonly number[] {
  return rule.reshape === undefined ? shape : replaced(rules, rule, shape, rule.dims, rule.reshape)
}

/** The shape that a client sees for that of a result. */
export function clientShape(rules: RequestRules, rule: TensorRule, shape: readonly number[]): readonly number[] {
  return rule.reshape === undefined ? shape : replaced(rules, rule, shape, rule.reshape, rule.dims)
}

/** Each variable size of `to` is the one of `from` in the same place among the variable ones; rows stay as they are. */
function replaced(
  rules: RequestRules,
  rule: TensorRule,
  shape: readonly number[],
  from: readonly number[],
  to: readonly number[],
): readonly number[] {
  const first = hasRows(rules, rule) ? 1 : 0
  const variable = shape.slice(first).filter((_, i) => (from[i] ?? 0) < 0)
  let next = 0
  return [...shape.slice(0, first), ...to.map((dim) => (dim < 0 ? (variable[next++] ?? 1) : dim))]
}
