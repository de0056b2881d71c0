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

type Row = Omit<FlagRule, 'name' | 'group'>
type More = Omit<Row, 'use' | 'value' | 'about' | 'isList'>

/** `texts`: a text that may come several times. */
function rowOf(use: FlagUse): (value: FlagValue | 'texts', about: string, more?: More) => Row {
  return (value, about, more) =>
    value === 'texts' ? { use, value: 'text', about, isList: true, ...more } : { use, value, about, ...more }
}

const [used, ignored, refused] = [rowOf('used'), rowOf('ignored'), rowOf('refused')]

const anyPort = { least: 0, most: 65_535 }
const milliseconds = { least: 1, most: 2 ** 31 - 1 }
const ownPort = 'several servers on one port come later: give each a port, behind a balancer'
const noHeaders = 'headers go to no model: give parameters of the request'
const noStrikes = 'pings of clients are answered, however many there are'
const sageMaker = 'there is no endpoint for SageMaker'
const vertex = 'there is no endpoint for Vertex AI'
const noTrace = 'requests are not traced yet: leave it out'
const noCache = 'answers are not cached'

/** By the title of their group, then by name. */
const groups: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  Server: {
    id: used('text', 'the name of this server in its metadata', { fallback: 'triton' }),
    'exit-timeout-secs': used('whole', 'seconds that requests under way have to end when the server is told to', {
      fallback: '30',
      least: 0,
      most: 86_400,
    }),
  },
  Log: {
    'log-verbose': used('level', 'a line for each request from 1 on', { fallback: '0', least: 0 }),
    'log-info': used('boolean', 'lines of the level info', { fallback: 'true' }),
    'log-warning': used('boolean', 'lines of the level warn', { fallback: 'true' }),
    'log-error': used('boolean', 'lines of the level error', { fallback: 'true' }),
    'log-format': used('text', 'the time in lines, which are JSON: milliseconds since 1970, or ISO8601', {
      fallback: 'default',
      choices: ['default', 'iso8601'],
    }),
    'log-file': used('text', 'a file that lines are appended to, in place of stderr'),
  },
  Models: {
    'model-repository': used('texts', 'a folder of models; a name that is in two of them is not served'),
    'model-store': used('texts', 'the same as --model-repository'),
    model: used(
      'texts',
      'NAME=FILE: one ONNX model or plan to serve without folders (repeatable; alone or with --model-repository)',
      { isOurs: true },
    ),
    'exit-on-error': used('boolean', 'whether a model that cannot be loaded at the start ends the server', {
      fallback: 'true',
    }),
    'disable-auto-complete-config': used('switch', 'what a config leaves out is not taken from the model'),
    'strict-readiness': used('boolean', 'whether the server is ready only as long as all its models are', {
      fallback: 'true',
    }),
    'model-control-mode': used(
      'text',
      'who loads models: nobody after the start, whatever changes in the repository, or clients',
      { fallback: 'none', choices: ['none', 'poll', 'explicit'] },
    ),
    'repository-poll-secs': used(
      'whole',
      'seconds between two looks at the repository, with --model-control-mode=poll',
      { fallback: '15', least: 1, most: 86_400 },
    ),
    'load-model': used('texts', 'a model to load at the start, or * for all, with --model-control-mode=explicit'),
    'model-config-name': refused(
      'text',
      'the folder configs/ is not read: keep the config that is wanted as config.pbtxt',
    ),
    'model-load-thread-count': used('whole', 'models that load at the same time', {
      fallback: '4',
      least: 1,
      most: 64,
    }),
    'model-load-retry-count': used('whole', 'how often a load that failed is tried again', {
      fallback: '0',
      least: 0,
      most: 1000,
    }),
    'model-namespacing': refused('boolean', 'a name is of one model: start a server for each repository', {
      accepted: ['false'],
    }),
    'enable-peer-access': ignored('boolean', 'no model spans several GPUs'),
    'allow-file-override': used(
      'boolean',
      'whether clients may send the files of a model that they load: a plan runs native code',
      { fallback: 'false', isOurs: true },
    ),
  },
  HTTP: {
    'allow-http': used('boolean', 'whether there is HTTP', { fallback: 'true' }),
    'http-address': used('text', 'the address that HTTP listens on', { fallback: '0.0.0.0' }),
    'http-port': used('whole', 'the port of HTTP; 0: any that is free', { fallback: '8000', ...anyPort }),
    'reuse-http-port': refused('boolean', ownPort, { accepted: ['false'] }),
    'http-header-forward-pattern': ignored('text', noHeaders),
    'http-thread-count': ignored('whole', 'one thread serves HTTP; models run on threads of their own'),
    'http-restricted-api': used('texts', 'APIs:KEY=VALUE: requests for these need the header KEY with this value'),
    'http-max-input-size': used('whole', 'the most bytes of a request, after decompression; of gRPC, too', {
      fallback: '67108864',
      least: 1,
    }),
    'max-inflight-bytes': used(
      'whole',
      'the most bytes that requests and answers have at one time; one more request is answered with 503, or with RESOURCE_EXHAUSTED',
      { fallback: '1073741824', least: 1, isOurs: true },
    ),
  },
  gRPC: {
    'allow-grpc': used('boolean', 'whether there is gRPC', { fallback: 'true' }),
    'grpc-address': used('text', 'the address that gRPC listens on', { fallback: '0.0.0.0' }),
    'grpc-port': used('whole', 'the port of gRPC; 0: any that is free', { fallback: '8001', ...anyPort }),
    'reuse-grpc-port': refused('boolean', ownPort, { accepted: ['false'] }),
    'grpc-header-forward-pattern': ignored('text', noHeaders),
    'grpc-infer-thread-count': ignored('whole', 'one thread serves gRPC; models run on threads of their own'),
    'grpc-infer-allocation-pool-size': ignored(
      'whole',
      'requests have no objects that are kept; their memory is used again',
    ),
    'grpc-max-response-pool-size': ignored(
      'whole',
      'each request has one answer; --max-inflight-bytes limits what they hold',
    ),
    'grpc-use-ssl': used('boolean', 'TLS, with --grpc-server-cert and --grpc-server-key', { fallback: 'false' }),
    'grpc-use-ssl-mutual': used(
      'boolean',
      'TLS that asks for a certificate of the client, which --grpc-root-cert has signed',
      { fallback: 'false' },
    ),
    'grpc-server-cert': used('text', "the file of the server's certificate, PEM"),
    'grpc-server-key': used('text', "the file of the server's key, PEM"),
    'grpc-root-cert': used('text', 'the file of certificates that may sign those of clients, PEM'),
    'grpc-infer-response-compression-level': used(
      'text',
      'answers to inferences are compressed for clients that take it: low by gzip, medium and high by deflate',
      { fallback: 'none', choices: ['none', 'low', 'medium', 'high'] },
    ),
    'grpc-keepalive-time': used('whole', 'milliseconds between two pings of a connection', {
      fallback: '7200000',
      ...milliseconds,
    }),
    'grpc-keepalive-timeout': used(
      'whole',
      'milliseconds after a ping without an answer in which the connection is given up',
      { fallback: '20000', ...milliseconds },
    ),
    'grpc-keepalive-permit-without-calls': ignored('boolean', 'pings are sent whether or not a connection has calls'),
    'grpc-http2-max-pings-without-data': ignored('whole', '--grpc-keepalive-time alone says when pings are sent'),
    'grpc-http2-min-recv-ping-interval-without-data': ignored('whole', noStrikes),
    'grpc-http2-max-ping-strikes': ignored('whole', noStrikes),
    'grpc-max-connection-age': used(
      'whole',
      'milliseconds after which a connection is told to go away, a tenth more or less; else never',
      { ...milliseconds },
    ),
    'grpc-max-connection-age-grace': used(
      'whole',
      'milliseconds that calls of such a connection have to end; else as long as they take',
      { ...milliseconds },
    ),
    'grpc-restricted-protocol': used(
      'texts',
      'APIs:KEY=VALUE: calls of these need the header triton-grpc-protocol-KEY with this value',
    ),
  },
  'SageMaker and Vertex AI': {
    'allow-sagemaker': refused('boolean', `${sageMaker}: use HTTP`, { accepted: ['false'] }),
    'sagemaker-port': ignored('whole', sageMaker),
    'sagemaker-safe-port-range': ignored('text', sageMaker),
    'sagemaker-thread-count': ignored('whole', sageMaker),
    'allow-vertex-ai': refused('boolean', `${vertex}: use HTTP`, { accepted: ['false'] }),
    'vertex-ai-port': ignored('whole', vertex),
    'vertex-ai-thread-count': ignored('whole', vertex),
    'vertex-ai-default-model': ignored('text', vertex),
  },
  Metrics: {
    'allow-metrics': used('boolean', 'whether there are metrics for Prometheus', { fallback: 'true' }),
    'allow-gpu-metrics': ignored('boolean', "figures of GPUs are those of NVIDIA's DCGM exporter"),
    'allow-cpu-metrics': used('boolean', "whether metrics have the machine's processors and memory", {
      fallback: 'true',
    }),
    'metrics-address': used('text', 'the address that metrics listen on', { fallback: 'that of HTTP' }),
    'metrics-port': used('whole', 'the port of metrics; 0: any that is free', { fallback: '8002', ...anyPort }),
    'metrics-interval-ms': ignored('number', 'values are taken when they are asked for'),
    'metrics-config': used(
      'texts',
      'durations: counter_latencies=false leaves them out; histogram_latencies and summary_latencies are false alone',
    ),
  },
  Traces: {
    'trace-config': refused('texts', noTrace, { accepted: ['level=off'] }),
    'trace-file': refused('text', noTrace),
    'trace-level': refused('texts', noTrace, { accepted: ['off'] }),
    'trace-rate': refused('whole', noTrace),
    'trace-count': refused('whole', noTrace),
    'trace-log-frequency': refused('whole', noTrace),
  },
  Backends: {
    'backend-directory': ignored('text', 'the backends tensorrt and onnxruntime are part of this package'),
    'backend-config': used(
      'texts',
      'settings: tensorrt,plugins=A.so;B.so loads libraries of plugins; tensorrt,version-compatible=true lets plans run code that they bring; others are named in the log, and have no effect',
    ),
    tensorrt: used('text', 'the TensorRT library, or its folder; else $TENSORRT_PATH', { isOurs: true }),
    'repoagent-directory': ignored('text', 'there are no agents of repositories'),
  },
  'Cache of answers': {
    'cache-config': refused('texts', `${noCache}: leave it out`),
    'cache-directory': ignored('text', noCache),
  },
  'Rate limiter': {
    'rate-limit': refused('text', 'instances run as soon as they are free: leave it out', {
      choices: ['off', 'execution_count'],
      accepted: ['off'],
    }),
    'rate-limit-resource': ignored('texts', 'the rate limiter is off, as it is in Triton by default'),
  },
  'Memory and devices': {
    'pinned-memory-pool-byte-size': ignored('whole', 'pinned memory is taken as it is needed, and used again'),
    'cuda-memory-pool-byte-size': ignored('texts', 'engines keep their memory on the GPU'),
    'cuda-virtual-address-size': ignored('texts', 'it is of sequences, which are not served'),
    'min-supported-compute-capability': ignored('number', 'TensorRT says which GPUs it takes'),
    'buffer-manager-thread-count': ignored('whole', 'lanes copy on threads of their own'),
    'host-policy': ignored('texts', 'threads are bound to no core: numactl or taskset does that'),
    'model-load-gpu-limit': refused('texts', 'loads have no limit of GPU memory yet: leave it out'),
    'allow-client-shm': refused('boolean', 'shared memory is not served: send tensors in the body', {
      accepted: ['false'],
    }),
  },
  'Deprecated by Triton': {
    'strict-model-config': used('boolean', 'the same as --disable-auto-complete-config, if it is true', {
      fallback: 'false',
    }),
    'response-cache-byte-size': refused('whole', `${noCache}: leave it out`, { accepted: ['0'] }),
  },
}

export const flagRules: readonly FlagRule[] = Object.entries(groups).flatMap(([group, rows]) =>
  Object.entries(rows).map(([name, row]) => ({ ...row, name, group })),
)

/** With its dashes, and what follows it: `--http-port <INTEGER>`. */
export function flagUsage({ name, value }: FlagRule): string {
  return value === 'switch' ? `--${name}` : `--${name} <${words[value]}>`
}

const words = { boolean: 'BOOLEAN', whole: 'INTEGER', level: 'INTEGER', number: 'NUMBER', text: 'TEXT' } as const
