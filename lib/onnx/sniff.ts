/**
 * The tags (field number × 8 + wire type) of ModelProto's fields that fit in one byte. They are written out, since who
 * opens a plan is to load no schema; test/onnx/sniff.test.ts holds them against it.
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto ModelProto
 */
export const firstTags: ReadonlySet<number> = new Set([0x08, 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72])

/**
 * Whether bytes that begin so may be ONNX. Writers put a model's fields in the order of their numbers, so one of the
 * first opens every file.
 */
export function looksLikeOnnx(head: Uint8Array): boolean {
  return head.length > 1 && firstTags.has(head[0] ?? 0)
}
