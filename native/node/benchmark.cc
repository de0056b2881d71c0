#include "benchmark.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../gpu/audit.h"
#include "handle.h"

namespace nt::node {
using execution::BenchmarkOptions;
using execution::BenchmarkResult;
using execution::BenchmarkTensor;
using execution::BenchmarkWatch;
using execution::QueryTimes;

template <>
inline constexpr auto fieldsOf<gpu::LayerTime> =
    std::tuple(Field("name", &gpu::LayerTime::name), Field("averageMs", &gpu::LayerTime::average),
               Field("medianMs", &gpu::LayerTime::median));
template <>
inline constexpr auto fieldsOf<gpu::InputShape> =
    std::tuple(Field("name", &gpu::InputShape::name), Field("shape", &gpu::InputShape::shape));
template <>
inline constexpr auto fieldsOf<gpu::EngineAudit> =
    std::tuple(Field("facts", &gpu::EngineAudit::facts), Field("shapes", &gpu::EngineAudit::shapes),
               Field("times", &gpu::EngineAudit::times));

// All but the inputs.
template <>
inline constexpr auto fieldsOf<BenchmarkOptions> =
    std::tuple(Field("profile", &BenchmarkOptions::profile), Field("streams", &BenchmarkOptions::streams),
               Field("threads", &BenchmarkOptions::threads), Field("depth", &BenchmarkOptions::depth),
               Field("warmUpMs", &BenchmarkOptions::warmUp), Field("durationMs", &BenchmarkOptions::duration),
               Field("sleepMs", &BenchmarkOptions::sleep), Field("idleMs", &BenchmarkOptions::idle),
               Field("iterations", &BenchmarkOptions::iterations), Field("mostQueries", &BenchmarkOptions::mostQueries),
               Field("transfers", &BenchmarkOptions::transfers), Field("cudaGraph", &BenchmarkOptions::cudaGraph),
               Field("spinWait", &BenchmarkOptions::spinWait), Field("endToEnd", &BenchmarkOptions::endToEnd),
               Field("outputs", &BenchmarkOptions::outputs));
template <>
inline constexpr auto fieldsOf<BenchmarkTensor> =
    std::tuple(Field("shape", &BenchmarkTensor::shape), Field("data", &BenchmarkTensor::bytes));
template <>
inline constexpr auto fieldsOf<BenchmarkResult> =
    std::tuple(Field("device", &BenchmarkResult::device),
               Field("queries",
                     [](const BenchmarkResult& result) {
                       // eight numbers of each, in the order in which QueryTimes has them
                       static_assert(sizeof(QueryTimes) == 8 * sizeof(double));
                       std::vector<double> numbers(result.queries.size() * 8);
                       if (!numbers.empty())
                         std::memcpy(numbers.data(), result.queries.data(), numbers.size() * sizeof(double));
                       return numbers;
                     }),
               Field("endToEnd", &BenchmarkResult::endToEnd), Field("outputs", &BenchmarkResult::outputs),
               Field("graphRefused", &BenchmarkResult::graphRefused),
               Field("seen", [](const BenchmarkResult& result) { return static_cast<double>(result.seen); }),
               Field("counted", [](const BenchmarkResult& result) { return static_cast<double>(result.counted); }),
               Field("alone", [](const BenchmarkResult& result) { return static_cast<double>(result.alone); }),
               Field("beginMs", &BenchmarkResult::begin), Field("endMs", &BenchmarkResult::end));

namespace {

// [{ shape, data: TypedArray }] of all inputs, whose data is copied. Throws ERR_TRT_INVALID_ARGUMENT, and ERR_TRT_SHAPE
// where the data is not as long as the shape says.
std::vector<BenchmarkTensor> tensorsOf(const Napi::Value& value, const execution::Engine& engine) {
  const std::vector<execution::IoTensor>& infos = engine.inputs();
  auto tensors = fromJs<std::vector<BenchmarkTensor>>(value, "inputs");
  if (tensors.size() != infos.size()) throwExpected("an array of all inputs");
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const BenchmarkTensor& tensor = tensors[i];
    const execution::IoTensor& info = infos[i];
    if (!engine.takesRank(i, tensor.shape.size()) || isDynamic(tensor.shape) ||
        !fitsBytes(info.dtype, tensor.shape, tensor.bytes.size()))
      throw Error("ERR_TRT_SHAPE", "Expected data of its shape for input '" + info.name + "'");
  }
  return tensors;
}

// Those of native-types.ts, checked in lib/.
BenchmarkOptions benchmarkOptionsOf(const Napi::Object& object, const execution::Engine& engine) {
  BenchmarkOptions options;
  readFields(object, options);
  options.inputs = tensorsOf(object.Get("inputs"), engine);
  options.streams = std::max(options.streams, 1);
  options.depth = std::max(options.depth, 1);
  return options;
}

// What runs, and where it is, for two threads.
struct Running {
  BenchmarkOptions options;
  std::atomic<bool> cancelled{false};
  BenchmarkWatch watch{cancelled};
};

// progress(): { phase: 'queries' | 'end-to-end', elapsedMs }
Napi::Value progress(const Napi::CallbackInfo& info) {
  const BenchmarkWatch& watch = kept<Running>(info).watch;
  return objectOf(info.Env(),
                  Field("phase", watch.phase() == BenchmarkWatch::Phase::queries ? "queries" : "end-to-end"),
                  Field("elapsedMs", watch.elapsed()));
}

}  // namespace

Napi::Value audit(const Napi::CallbackInfo& info) {
  const auto options = fromJs<Napi::Object>(info[0], "options");
  gpu::AuditOptions audit;
  audit.profile = property<int32_t>(options, "profile");
  audit.iterations = property(options, "iterations", audit.iterations);
  const EngineHandle& handle = handleOf(info);
  if (!options.Get("inputs").IsUndefined()) audit.inputs = tensorsOf(options.Get("inputs"), handle.open().engine());
  // shared: the engine stays while it is audited, whoever closes it
  const auto engine = std::dynamic_pointer_cast<gpu::Engine>(handle.open().sharedEngine());
  if (!engine) throw Error("ERR_TRT_UNSUPPORTED", "Only an engine of TensorRT can be audited");
  return handle.environment->runCancellable(
      info.Env(), [engine, audit](const std::atomic<bool>& cancelled) { return gpu::audit(engine, audit, cancelled); });
}

Napi::Value benchmark(const Napi::CallbackInfo& info) {
  const EngineHandle& handle = handleOf(info);
  // shared: the engine stays while it is measured, whoever closes it
  const std::shared_ptr<execution::Engine> engine = handle.open().sharedEngine();
  const auto running = std::make_shared<Running>();
  running->options = benchmarkOptionsOf(fromJs<Napi::Object>(info[0], "options"), *engine);
  const Napi::Object value = handle.environment->runCancellable(
      info.Env(),
      [engine, running](const std::atomic<bool>&) { return engine->benchmark(running->options, running->watch); },
      Environment::AtEnd::join, [running] { running->cancelled.store(true); }, engine->patienceAtExit());
  setFunctions(value, running, {{"progress", guarded<progress>}});
  return value;
}

}  // namespace nt::node
