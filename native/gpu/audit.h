// An engine at work, layer by layer: what it is made of, by TensorRT's inspector, and how long each layer takes.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine.h"

namespace nt::gpu {

struct AuditOptions {
  int32_t profile = 0;
  // by input; empty: zeros, at the best shapes of the profile
  std::vector<execution::BenchmarkTensor> inputs;
  // how many executions are timed; some more go before
  int iterations = 10;
};

struct InputShape {
  std::string name;
  Shape shape;
};

struct LayerTime {
  std::string name;
  // milliseconds: the sum over all iterations by their number, and the median of those that ran the layer
  double average = 0, median = 0;
};

struct EngineAudit {
  // what TensorRT tells of the engine as it is, by the names of LayerFacts in lib/backend/backend.ts
  std::vector<std::pair<const char*, std::variant<int64_t, std::string>>> facts;
  std::vector<InputShape> shapes;
  std::vector<LayerTime> times;
};

// Runs on the calling thread, on a context, a stream and memory of its own, which are freed when it returns. Where none
// are given, inputs are zeros; those that the CPU reads have the values that the profile was built for. `cancelled` is
// looked at before each execution. Throws ABORTED, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY
// and the errors of cuda/.
EngineAudit audit(const std::shared_ptr<Engine>& engine, const AuditOptions& options,
                  const std::atomic<bool>& cancelled);

}  // namespace nt::gpu
