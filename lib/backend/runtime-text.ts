/** Messages of onnxruntime, made readable. */
import { reworded, type TensorRTError } from '../errors.js'

/** Where in its own source onnxruntime failed, with the signature of the function: hundreds of characters of C++. */
const position =
  /(?:\S*\/)?onnxruntime\S*\.(?:cc|cpp|cuh?|h|hpp|inl):\d+ .*?\)(?: const)?(?: \[with [^\]]*\])?(?::| ) ?(?=\S)/g

/** Returns the text without positions in onnxruntime's source. */
export function withoutPosition(text: string): string {
  return text.includes('onnxruntime') ? text.replace(position, '') : text
}

/** Patterns of onnxruntime's load errors, with the messages that replace them. */
const explanations: readonly (readonly [pattern: RegExp, text: (...found: string[]) => string])[] = [
  [
    /Unsupported model IR version: (\d+), max supported IR version: (\d+)/,
    (found, most) =>
      `The model has IR version ${found}, and this onnxruntime supports up to ${most}. To fix: export it with an older version of the Python package onnx, or install a newer onnxruntime-node`,
  ],
  [
    /([\w.:]+)\(-?\d+\) is not a registered function\/op/,
    (operator) =>
      `onnxruntime has no operator ${operator}. To fix: name the library that has it, cpu: { customOps: ['/path/to/library.so'] }`,
  ],
  [
    /No Op registered for (\w+) with domain_version of (\d+)/,
    (operator, version) =>
      `onnxruntime has no operator ${operator} in version ${version} of its domain. To fix: export the model with another opset, or install a newer onnxruntime-node`,
  ],
]

/** The error with a message that says how to fix it; `details.onnxruntime` keeps onnxruntime's own words. */
export function explained(error: TensorRTError): TensorRTError {
  for (const [pattern, text] of explanations) {
    const [, ...found] = pattern.exec(error.message) ?? []
    if (found.length > 0) return reworded(error, text(...found), { onnxruntime: error.message, ...error.details })
  }
  return error
}
