// What the snippets of README and docs take for granted: names that a reader's program has, and what they import where a snippet before them did.
declare const pixels: Float32Array
declare const tensor: import('node-tensorrt').Tensor
declare const signal: AbortSignal
declare const pictures: AsyncIterable<import('node-tensorrt').Tensor<'float32'>>
declare const photographs: AsyncIterable<{ images: import('node-tensorrt').Tensor<'float32'> }>
declare const worker: import('node:worker_threads').Worker
declare function show(results: unknown): void
