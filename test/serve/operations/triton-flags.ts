/** The flags of Triton's server 2.73, by its src/command_line_parser.cc, but for --help. */
export const tritonFlags = `
allow-client-shm allow-cpu-metrics allow-gpu-metrics allow-grpc allow-http allow-metrics allow-sagemaker allow-vertex-ai
backend-config backend-directory buffer-manager-thread-count cache-config cache-directory cuda-memory-pool-byte-size
cuda-virtual-address-size disable-auto-complete-config enable-peer-access exit-on-error exit-timeout-secs grpc-address
grpc-header-forward-pattern grpc-http2-max-ping-strikes grpc-http2-max-pings-without-data
grpc-http2-min-recv-ping-interval-without-data grpc-infer-allocation-pool-size grpc-infer-response-compression-level
grpc-infer-thread-count grpc-keepalive-permit-without-calls grpc-keepalive-time grpc-keepalive-timeout grpc-max-connection-age
grpc-max-connection-age-grace grpc-max-response-pool-size grpc-port grpc-restricted-protocol grpc-root-cert grpc-server-cert
grpc-server-key grpc-use-ssl grpc-use-ssl-mutual host-policy http-address http-header-forward-pattern http-max-input-size
http-port http-restricted-api http-thread-count id load-model log-error log-file log-format log-info log-verbose log-warning
metrics-address metrics-config metrics-interval-ms metrics-port min-supported-compute-capability model-config-name
model-control-mode model-load-gpu-limit model-load-retry-count model-load-thread-count model-namespacing model-repository
model-store pinned-memory-pool-byte-size rate-limit rate-limit-resource repoagent-directory repository-poll-secs
response-cache-byte-size reuse-grpc-port reuse-http-port sagemaker-port sagemaker-safe-port-range sagemaker-thread-count
strict-model-config strict-readiness trace-config trace-count trace-file trace-level trace-log-frequency trace-rate
vertex-ai-default-model vertex-ai-port vertex-ai-thread-count
`
  .trim()
  .split(/\s+/)
