// The flags of `trt serve`: all that Triton's server has (src/command_line_parser.cc of its version 2.73), and a few of
// ours. docs/serving.md is made of this.

/** What follows a flag; `switch`: nothing; `level`: a whole number, or true for 1 and false for 0. */
export type FlagValue = 'switch' | 'boolean' | 'whole' | 'level' | 'number' | 'text'

/** A flag without effect has one line in the log; one that is refused ends the command, with what to do instead. */
export type FlagUse = 'used' | 'ignored' | 'refused'

export interface FlagRule {
  /** Without its dashes. */
  readonly name: string
  readonly group: string
  readonly value: FlagValue
  readonly use: FlagUse
  /** What it does; why it has no effect; what to do instead. */
  readonly about: string
  /** What is taken without it. */
  readonly fallback?: string | undefined
  /** Whether it may come several times, each adding to the others; else the last one counts. */
  readonly isList?: true | undefined
  /** Of numbers. */
  readonly least?: number | undefined
  readonly most?: number | undefined
  /** Of texts, in small letters; capitals are the same. */
  readonly choices?: readonly string[] | undefined
  /** Of a flag that is refused: values that ask for nothing, and are taken. */
  readonly accepted?: readonly string[] | undefined
  /** Triton has no such flag. */
  readonly isOurs?: true | undefined
}

type Row = Omit<FlagRule, 'group'>

const anyPort = { value: 'whole', least: 0, most: 65_535 } as const

const server: readonly Row[] = [
  {
    name: 'id',
    value: 'text',
    use: 'used',
    fallback: 'triton',
    about: 'the name of this server in its metadata',
  },
  {
    name: 'exit-timeout-secs',
    value: 'whole',
    least: 0,
    most: 86_400,
    use: 'used',
    fallback: '30',
    about: 'seconds that requests under way have to end when the server is told to',
  },
]

const log: readonly Row[] = [
  {
    name: 'log-verbose',
    value: 'level',
    least: 0,
    use: 'used',
    fallback: '0',
    about: 'a line for each request from 1 on',
  },
  { name: 'log-info', value: 'boolean', use: 'used', fallback: 'true', about: 'lines of the level info' },
  { name: 'log-warning', value: 'boolean', use: 'used', fallback: 'true', about: 'lines of the level warn' },
  { name: 'log-error', value: 'boolean', use: 'used', fallback: 'true', about: 'lines of the level error' },
  {
    name: 'log-format',
    value: 'text',
    choices: ['default', 'iso8601'],
    use: 'used',
    fallback: 'default',
    about: 'the time in lines, which are JSON: milliseconds since 1970, or ISO8601',
  },
  { name: 'log-file', value: 'text', use: 'used', about: 'a file that lines are appended to, in place of stderr' },
]

const repository: readonly Row[] = [
  {
    name: 'model-repository',
    value: 'text',
    isList: true,
    use: 'used',
    about: 'a folder of models; a name that is in two of them is not served',
  },
  { name: 'model-store', value: 'text', isList: true, use: 'used', about: 'the same as --model-repository' },
  {
    name: 'exit-on-error',
    value: 'boolean',
    use: 'used',
    fallback: 'true',
    about: 'whether a model that cannot be loaded at the start ends the server',
  },
  {
    name: 'disable-auto-complete-config',
    value: 'switch',
    use: 'used',
    about: 'what a config leaves out is not taken from the model',
  },
  {
    name: 'strict-readiness',
    value: 'boolean',
    use: 'used',
    fallback: 'true',
    about: 'whether the server is ready only as long as all its models are',
  },
  {
    name: 'model-control-mode',
    value: 'text',
    choices: ['none', 'poll', 'explicit'],
    use: 'used',
    fallback: 'none',
    about: 'who loads models: nobody after the start, whatever changes in the repository, or clients',
  },
  {
    name: 'repository-poll-secs',
    value: 'whole',
    least: 1,
    most: 86_400,
    use: 'used',
    fallback: '15',
    about: 'seconds between two looks at the repository, with --model-control-mode=poll',
  },
  {
    name: 'load-model',
    value: 'text',
    isList: true,
    use: 'used',
    about: 'a model to load at the start, or * for all, with --model-control-mode=explicit',
  },
  {
    name: 'model-config-name',
    value: 'text',
    use: 'refused',
    about: 'the folder configs/ is not read: keep the config that is wanted as config.pbtxt',
  },
  {
    name: 'model-load-thread-count',
    value: 'whole',
    least: 1,
    most: 64,
    use: 'used',
    fallback: '4',
    about: 'models that load at the same time',
  },
  {
    name: 'model-load-retry-count',
    value: 'whole',
    least: 0,
    most: 1000,
    use: 'used',
    fallback: '0',
    about: 'how often a load that failed is tried again',
  },
  {
    name: 'model-namespacing',
    value: 'boolean',
    use: 'refused',
    accepted: ['false'],
    about: 'a name is of one model: start a server for each repository',
  },
  {
    name: 'enable-peer-access',
    value: 'boolean',
    use: 'ignored',
    about: 'no model spans several GPUs',
  },
  {
    name: 'allow-file-override',
    value: 'boolean',
    use: 'used',
    fallback: 'false',
    isOurs: true,
    about: 'whether clients may send the files of a model that they load: a plan runs native code',
  },
]

const noHeaders = 'headers go to no model: give parameters of the request'

const http: readonly Row[] = [
  { name: 'allow-http', value: 'boolean', use: 'used', fallback: 'true', about: 'whether there is HTTP' },
  { name: 'http-address', value: 'text', use: 'used', fallback: '0.0.0.0', about: 'the address that HTTP listens on' },
  { name: 'http-port', ...anyPort, use: 'used', fallback: '8000', about: 'the port of HTTP; 0: any that is free' },
  {
    name: 'reuse-http-port',
    value: 'boolean',
    use: 'refused',
    accepted: ['false'],
    about: 'several servers on one port come later: give each a port, behind a balancer',
  },
  {
    name: 'http-header-forward-pattern',
    value: 'text',
    use: 'ignored',
    about: noHeaders,
  },
  {
    name: 'http-thread-count',
    value: 'whole',
    use: 'ignored',
    about: 'one thread serves HTTP; models run on threads of their own',
  },
  {
    name: 'http-restricted-api',
    value: 'text',
    isList: true,
    use: 'used',
    about: 'APIs:KEY=VALUE: requests for these need the header KEY with this value',
  },
  {
    name: 'http-max-input-size',
    value: 'whole',
    least: 1,
    use: 'used',
    fallback: '67108864',
    about: 'the most bytes of a request, after decompression; of gRPC, too',
  },
  {
    name: 'max-inflight-bytes',
    value: 'whole',
    least: 1,
    use: 'used',
    fallback: '1073741824',
    isOurs: true,
    about:
      'the most bytes that requests and answers have at one time; one more request is answered with 503, or with RESOURCE_EXHAUSTED',
  },
]

const milliseconds = { value: 'whole', least: 1, most: 2 ** 31 - 1 } as const
const noStrikes = 'pings of clients are answered, however many there are'

const grpc: readonly Row[] = [
  { name: 'allow-grpc', value: 'boolean', use: 'used', fallback: 'true', about: 'whether there is gRPC' },
  { name: 'grpc-address', value: 'text', use: 'used', fallback: '0.0.0.0', about: 'the address that gRPC listens on' },
  { name: 'grpc-port', ...anyPort, use: 'used', fallback: '8001', about: 'the port of gRPC; 0: any that is free' },
  {
    name: 'reuse-grpc-port',
    value: 'boolean',
    use: 'refused',
    accepted: ['false'],
    about: 'several servers on one port come later: give each a port, behind a balancer',
  },
  { name: 'grpc-header-forward-pattern', value: 'text', use: 'ignored', about: noHeaders },
  {
    name: 'grpc-infer-thread-count',
    value: 'whole',
    use: 'ignored',
    about: 'one thread serves gRPC; models run on threads of their own',
  },
  {
    name: 'grpc-infer-allocation-pool-size',
    value: 'whole',
    use: 'ignored',
    about: 'requests have no objects that are kept; their memory is used again',
  },
  {
    name: 'grpc-max-response-pool-size',
    value: 'whole',
    use: 'ignored',
    about: 'each request has one answer; --max-inflight-bytes limits what they hold',
  },
  {
    name: 'grpc-use-ssl',
    value: 'boolean',
    use: 'used',
    fallback: 'false',
    about: 'TLS, with --grpc-server-cert and --grpc-server-key',
  },
  {
    name: 'grpc-use-ssl-mutual',
    value: 'boolean',
    use: 'used',
    fallback: 'false',
    about: 'TLS that asks for a certificate of the client, which --grpc-root-cert has signed',
  },
  { name: 'grpc-server-cert', value: 'text', use: 'used', about: "the file of the server's certificate, PEM" },
  { name: 'grpc-server-key', value: 'text', use: 'used', about: "the file of the server's key, PEM" },
  {
    name: 'grpc-root-cert',
    value: 'text',
    use: 'used',
    about: 'the file of certificates that may sign those of clients, PEM',
  },
  {
    name: 'grpc-infer-response-compression-level',
    value: 'text',
    choices: ['none', 'low', 'medium', 'high'],
    use: 'used',
    fallback: 'none',
    about: 'answers to inferences are compressed for clients that take it: low by gzip, medium and high by deflate',
  },
  {
    name: 'grpc-keepalive-time',
    ...milliseconds,
    use: 'used',
    fallback: '7200000',
    about: 'milliseconds between two pings of a connection',
  },
  {
    name: 'grpc-keepalive-timeout',
    ...milliseconds,
    use: 'used',
    fallback: '20000',
    about: 'milliseconds after a ping without an answer in which the connection is given up',
  },
  {
    name: 'grpc-keepalive-permit-without-calls',
    value: 'boolean',
    use: 'ignored',
    about: 'pings are sent whether or not a connection has calls',
  },
  {
    name: 'grpc-http2-max-pings-without-data',
    value: 'whole',
    use: 'ignored',
    about: '--grpc-keepalive-time alone says when pings are sent',
  },
  { name: 'grpc-http2-min-recv-ping-interval-without-data', value: 'whole', use: 'ignored', about: noStrikes },
  { name: 'grpc-http2-max-ping-strikes', value: 'whole', use: 'ignored', about: noStrikes },
  {
    name: 'grpc-max-connection-age',
    ...milliseconds,
    use: 'used',
    about: 'milliseconds after which a connection is told to go away, a tenth more or less; else never',
  },
  {
    name: 'grpc-max-connection-age-grace',
    ...milliseconds,
    use: 'used',
    about: 'milliseconds that calls of such a connection have to end; else as long as they take',
  },
  {
    name: 'grpc-restricted-protocol',
    value: 'text',
    isList: true,
    use: 'used',
    about: 'APIs:KEY=VALUE: calls of these need the header triton-grpc-protocol-KEY with this value',
  },
]

const sageMaker = 'there is no endpoint for SageMaker'
const vertex = 'there is no endpoint for Vertex AI'

const clouds: readonly Row[] = [
  { name: 'allow-sagemaker', value: 'boolean', use: 'refused', accepted: ['false'], about: `${sageMaker}: use HTTP` },
  { name: 'sagemaker-port', value: 'whole', use: 'ignored', about: sageMaker },
  { name: 'sagemaker-safe-port-range', value: 'text', use: 'ignored', about: sageMaker },
  { name: 'sagemaker-thread-count', value: 'whole', use: 'ignored', about: sageMaker },
  { name: 'allow-vertex-ai', value: 'boolean', use: 'refused', accepted: ['false'], about: `${vertex}: use HTTP` },
  { name: 'vertex-ai-port', value: 'whole', use: 'ignored', about: vertex },
  { name: 'vertex-ai-thread-count', value: 'whole', use: 'ignored', about: vertex },
  { name: 'vertex-ai-default-model', value: 'text', use: 'ignored', about: vertex },
]

const metrics: readonly Row[] = [
  {
    name: 'allow-metrics',
    value: 'boolean',
    use: 'used',
    fallback: 'true',
    about: 'whether there are metrics for Prometheus',
  },
  {
    name: 'allow-gpu-metrics',
    value: 'boolean',
    use: 'ignored',
    about: "figures of GPUs are those of NVIDIA's DCGM exporter",
  },
  {
    name: 'allow-cpu-metrics',
    value: 'boolean',
    use: 'used',
    fallback: 'true',
    about: "whether metrics have the machine's processors and memory",
  },
  {
    name: 'metrics-address',
    value: 'text',
    use: 'used',
    fallback: 'that of HTTP',
    about: 'the address that metrics listen on',
  },
  {
    name: 'metrics-port',
    ...anyPort,
    use: 'used',
    fallback: '8002',
    about: 'the port of metrics; 0: any that is free',
  },
  { name: 'metrics-interval-ms', value: 'number', use: 'ignored', about: 'values are taken when they are asked for' },
  {
    name: 'metrics-config',
    value: 'text',
    isList: true,
    use: 'used',
    about:
      'durations: counter_latencies=false leaves them out; histogram_latencies and summary_latencies are false alone',
  },
]

const noTrace = 'requests are not traced yet: leave it out'

const tracing: readonly Row[] = [
  { name: 'trace-config', value: 'text', isList: true, use: 'refused', accepted: ['level=off'], about: noTrace },
  { name: 'trace-file', value: 'text', use: 'refused', about: noTrace },
  { name: 'trace-level', value: 'text', isList: true, use: 'refused', accepted: ['off'], about: noTrace },
  { name: 'trace-rate', value: 'whole', use: 'refused', about: noTrace },
  { name: 'trace-count', value: 'whole', use: 'refused', about: noTrace },
  { name: 'trace-log-frequency', value: 'whole', use: 'refused', about: noTrace },
]

const backends: readonly Row[] = [
  {
    name: 'backend-directory',
    value: 'text',
    use: 'ignored',
    about: 'the backends tensorrt and onnxruntime are part of this package',
  },
  {
    name: 'backend-config',
    value: 'text',
    isList: true,
    use: 'used',
    about:
      'settings: tensorrt,plugins=A.so;B.so loads libraries of plugins; tensorrt,version-compatible=true lets plans run code that they bring; others are named in the log, and have no effect',
  },
  {
    name: 'tensorrt',
    value: 'text',
    use: 'used',
    isOurs: true,
    about: 'the TensorRT library, or its folder; else $TENSORRT_PATH',
  },
  { name: 'repoagent-directory', value: 'text', use: 'ignored', about: 'there are no agents of repositories' },
]

const cache: readonly Row[] = [
  { name: 'cache-config', value: 'text', isList: true, use: 'refused', about: 'answers are not cached: leave it out' },
  { name: 'cache-directory', value: 'text', use: 'ignored', about: 'answers are not cached' },
]

const limiter: readonly Row[] = [
  {
    name: 'rate-limit',
    value: 'text',
    choices: ['off', 'execution_count'],
    use: 'refused',
    accepted: ['off'],
    about: 'instances run as soon as they are free: leave it out',
  },
  {
    name: 'rate-limit-resource',
    value: 'text',
    isList: true,
    use: 'ignored',
    about: 'the rate limiter is off, as it is in Triton by default',
  },
]

const memory: readonly Row[] = [
  {
    name: 'pinned-memory-pool-byte-size',
    value: 'whole',
    use: 'ignored',
    about: 'pinned memory is taken as it is needed, and used again',
  },
  {
    name: 'cuda-memory-pool-byte-size',
    value: 'text',
    isList: true,
    use: 'ignored',
    about: 'engines keep their memory on the GPU',
  },
  {
    name: 'cuda-virtual-address-size',
    value: 'text',
    isList: true,
    use: 'ignored',
    about: 'it is of sequences, which are not served',
  },
  {
    name: 'min-supported-compute-capability',
    value: 'number',
    use: 'ignored',
    about: 'TensorRT says which GPUs it takes',
  },
  { name: 'buffer-manager-thread-count', value: 'whole', use: 'ignored', about: 'lanes copy on threads of their own' },
  {
    name: 'host-policy',
    value: 'text',
    isList: true,
    use: 'ignored',
    about: 'threads are bound to no core: numactl or taskset does that',
  },
  {
    name: 'model-load-gpu-limit',
    value: 'text',
    isList: true,
    use: 'refused',
    about: 'loads have no limit of GPU memory yet: leave it out',
  },
  {
    name: 'allow-client-shm',
    value: 'boolean',
    use: 'refused',
    accepted: ['false'],
    about: 'shared memory is not served: send tensors in the body',
  },
]

const deprecated: readonly Row[] = [
  {
    name: 'strict-model-config',
    value: 'boolean',
    use: 'used',
    fallback: 'false',
    about: 'the same as --disable-auto-complete-config, if it is true',
  },
  {
    name: 'response-cache-byte-size',
    value: 'whole',
    use: 'refused',
    accepted: ['0'],
    about: 'answers are not cached: leave it out',
  },
]

const groups: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  ['Server', server],
  ['Log', log],
  ['Models', repository],
  ['HTTP', http],
  ['gRPC', grpc],
  ['SageMaker and Vertex AI', clouds],
  ['Metrics', metrics],
  ['Traces', tracing],
  ['Backends', backends],
  ['Cache of answers', cache],
  ['Rate limiter', limiter],
  ['Memory and devices', memory],
  ['Deprecated by Triton', deprecated],
]

export const flagRules: readonly FlagRule[] = groups.flatMap(([group, rows]) => rows.map((row) => ({ ...row, group })))

/** With its dashes, and what follows it: `--http-port <INTEGER>`. */
export function flagUsage({ name, value }: FlagRule): string {
  return value === 'switch' ? `--${name}` : `--${name} <${words[value]}>`
}

const words = { boolean: 'BOOLEAN', whole: 'INTEGER', level: 'INTEGER', number: 'NUMBER', text: 'TEXT' } as const
