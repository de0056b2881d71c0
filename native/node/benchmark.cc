#include "benchmark.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "errors.h"
#include "handle.h"

namespace nt::node {
namespace {

using execution::BenchmarkOptions;
using execution::BenchmarkResult;
using execution::BenchmarkTensor;
using execution::BenchmarkWatch;
using execution::QueryTimes;

// Those of native-types.ts, checked in lib/.
BenchmarkOptions benchmarkOptionsOf(const Napi::Object& object, const execution::Engine& engine) {
  const auto flag = [&](const char* key) { return integerOf(object, key, 0) != 0; };
  BenchmarkOptions options;
  options.inputs = tensorsOf(object.Get("inputs"), engine.inputs());
  options.profile = static_cast<int32_t>(integerOf(object, "profile", 0));
  options.streams = static_cast<int>(std::max<int64_t>(integerOf(object, "streams", 1), 1));
  options.threads = flag("threads");
  options.depth = static_cast<int>(std::max<int64_t>(integerOf(object, "depth", 2), 1));
  options.warmUp = numberOf(object, "warmUpMs");
  options.duration = numberOf(object, "durationMs");
  options.sleep = numberOf(object, "sleepMs");
  options.idle = numberOf(object, "idleMs");
  options.iterations = integerOf(object, "iterations", 10);
  options.mostQueries = integerOf(object, "mostQueries", options.mostQueries);
  options.transfers = flag("transfers");
  options.cudaGraph = flag("cudaGraph");
  options.spinWait = flag("spinWait");
  options.endToEnd = flag("endToEnd");
  options.outputs = flag("outputs");
  return options;
}

// Eight numbers of each query, in the order in which QueryTimes has them.
Napi::Float64Array queriesValue(Napi::Env env, const std::vector<QueryTimes>& queries) {
  static_assert(sizeof(QueryTimes) == 8 * sizeof(double));
  Napi::Float64Array value = Napi::Float64Array::New(env, queries.size() * 8);
  if (!queries.empty()) std::memcpy(value.Data(), queries.data(), queries.size() * sizeof(QueryTimes));
  return value;
}

Napi::Float64Array timesValue(Napi::Env env, const std::vector<double>& times) {
  Napi::Float64Array value = Napi::Float64Array::New(env, times.size());
  std::copy(times.begin(), times.end(), value.Data());
  return value;
}

Napi::Array outputsValue(Napi::Env env, const std::vector<BenchmarkTensor>& outputs) {
  const Napi::Array array = Napi::Array::New(env, outputs.size());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const Napi::Object output = Napi::Object::New(env);
    Napi::ArrayBuffer data = Napi::ArrayBuffer::New(env, outputs[i].bytes.size());
    if (!outputs[i].bytes.empty()) std::memcpy(data.Data(), outputs[i].bytes.data(), outputs[i].bytes.size());
    output.Set("shape", shapeValue(env, outputs[i].shape));
    output.Set("data", data);
    array.Set(i, output);
  }
  return array;
}

Napi::Value measuredValue(Napi::Env env, const BenchmarkResult& result) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("device", result.device);
  value.Set("queries", queriesValue(env, result.queries));
  value.Set("endToEnd", timesValue(env, result.endToEnd));
  value.Set("outputs", outputsValue(env, result.outputs));
  value.Set("graphRefused", result.graphRefused);
  return value;
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
  const Napi::Object value = Napi::Object::New(info.Env());
  value.Set("phase", watch.phase() == BenchmarkWatch::Phase::queries ? "queries" : "end-to-end");
  value.Set("elapsedMs", watch.elapsed());
  return value;
}

}  // namespace

std::vector<BenchmarkTensor> tensorsOf(const Napi::Value& value, const std::vector<execution::IoTensor>& infos) {
  if (!value.IsArray() || value.As<Napi::Array>().Length() != infos.size())
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected an array of all inputs");
  std::vector<BenchmarkTensor> tensors;
  for (uint32_t i = 0; i < infos.size(); ++i) {
    const Napi::Value element = value.As<Napi::Array>().Get(i);
    if (!element.IsObject()) throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected an object for each input");
    const auto object = element.As<Napi::Object>();
    BenchmarkTensor tensor{integersOf(object.Get("shape"), "shape"), bytesOf(object.Get("data"), "data")};
    const execution::IoTensor& info = infos[i];
    if (tensor.shape.size() != info.shape.size() || isDynamic(tensor.shape) ||
        byteSize(info.dtype, tensor.shape) != tensor.bytes.size())
      throw Error("ERR_TRT_SHAPE", "Expected data of its shape for input '" + info.name + "'");
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Napi::Value benchmark(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const EngineHandle& handle = handleOf(info);
    // shared: the engine stays while it is measured, whoever closes it
    std::shared_ptr<execution::Engine> engine = handle.open().sharedEngine();
    const auto running = std::make_shared<Running>();
    running->options = benchmarkOptionsOf(objectArgument(info, 0, "options"), *engine);
    const auto patience = engine->patienceAtExit();
    const Napi::Object value = handle.environment->runCancellable(
        info.Env(),
        [engine = std::move(engine), running](const std::atomic<bool>&) mutable -> Environment::Finish {
          // let go of on this thread, before the promise is settled
          const std::shared_ptr<execution::Engine> held = std::exchange(engine, nullptr);
          const auto result = std::make_shared<BenchmarkResult>(held->benchmark(running->options, running->watch));
          return [result](Napi::Env env) { return measuredValue(env, *result); };
        },
        Environment::AtEnd::join, [running] { running->cancelled.store(true); }, patience);
    value.Set("progress", keeping(info.Env(), progress, "progress", running));
    return value;
  });
}

}  // namespace nt::node
