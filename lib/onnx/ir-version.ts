/** The IR version that came with a version of the operators: the last row whose opset is not above it. */
const irVersions = [
  { opset: 1, ir: 4 }, // initializers that are no inputs need 4
  { opset: 10, ir: 5 },
  { opset: 11, ir: 6 },
  { opset: 12, ir: 7 },
  { opset: 15, ir: 8 },
  { opset: 19, ir: 9 },
  { opset: 21, ir: 10 },
  { opset: 23, ir: 11 },
  { opset: 24, ir: 12 },
  { opset: 25, ir: 13 },
  { opset: 28, ir: 14 },
]

/** The IR version that the ONNX release of an opset wrote. */
export function irVersionOf(opset: number): number {
  return irVersions.findLast((row) => row.opset <= opset)?.ir as number
}
