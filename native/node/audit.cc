#include "audit.h"

#include "../gpu/audit.h"
#include "benchmark.h"
#include "errors.h"
#include "handle.h"
#include "values.h"

namespace nt::node {
namespace {

Napi::Object kindCountsValue(Napi::Env env, const building::NetworkAudit::Counts& counts) {
  const Napi::Object value = Napi::Object::New(env);
  for (const auto& [name, count] : counts) value.Set(name, count);
  return value;
}

Napi::Array tensorFactsValue(Napi::Env env, const std::vector<building::TensorFacts>& tensors) {
  const Napi::Array array = Napi::Array::New(env);
  for (const building::TensorFacts& tensor : tensors) {
    const Napi::Object value = Napi::Object::New(env);
    value.Set("name", tensor.name);
    value.Set("dtype", tensor.dtype);
    value.Set("shape", shapeValue(env, tensor.shape));
    value.Set("dimensionNames", textsValue(env, tensor.dimensionNames));
    array.Set(array.Length(), value);
  }
  return array;
}

Napi::Array layerTimesValue(Napi::Env env, const std::vector<gpu::LayerTime>& times) {
  const Napi::Array array = Napi::Array::New(env);
  for (const gpu::LayerTime& time : times) {
    const Napi::Object value = Napi::Object::New(env);
    value.Set("name", time.name);
    value.Set("averageMs", time.average);
    value.Set("medianMs", time.median);
    array.Set(array.Length(), value);
  }
  return array;
}

Napi::Value engineAuditValue(Napi::Env env, const gpu::EngineAudit& audit) {
  const Napi::Object value = Napi::Object::New(env);
  const Napi::Array shapes = Napi::Array::New(env);
  for (const auto& [name, shape] : audit.shapes) {
    const Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", name);
    entry.Set("shape", shapeValue(env, shape));
    shapes.Set(shapes.Length(), entry);
  }
  value.Set("layers", audit.layers);
  value.Set("verbosity", audit.verbosity);
  value.Set("document", audit.document);
  value.Set("shapes", shapes);
  value.Set("times", layerTimesValue(env, audit.times));
  return value;
}

}  // namespace

Napi::Object auditValue(Napi::Env env, const building::NetworkAudit& audit) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("layers", audit.layers);
  value.Set("layerTypes", kindCountsValue(env, audit.kinds));
  value.Set("outputTypes", kindCountsValue(env, audit.types));
  value.Set("quantize", kindCountsValue(env, audit.quantize));
  value.Set("dequantize", kindCountsValue(env, audit.dequantize));
  value.Set("weightBytes", static_cast<double>(audit.weightBytes));
  value.Set("inputs", tensorFactsValue(env, audit.inputs));
  value.Set("outputs", tensorFactsValue(env, audit.outputs));
  return value;
}

Napi::Value audit(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object options = objectArgument(info, 0, "options");
    gpu::AuditOptions audit;
    audit.profile = static_cast<int32_t>(integerOf(options, "profile", 0));
    audit.iterations = static_cast<int>(integerOf(options, "iterations", 10));
    const EngineHandle& handle = handleOf(info);
    if (options.Has("inputs")) audit.inputs = tensorsOf(options.Get("inputs"), handle.open().engine().inputs());
    // shared: the engine stays while it is audited, whoever closes it
    auto engine = std::dynamic_pointer_cast<gpu::Engine>(handle.open().sharedEngine());
    if (!engine) throw Error("ERR_TRT_UNSUPPORTED", "Only an engine of TensorRT can be audited");
    return handle.environment->runCancellable(
        info.Env(),
        [engine = std::move(engine), audit](const std::atomic<bool>& cancelled) mutable -> Environment::Finish {
          // let go of on this thread, before the promise is settled
          const std::shared_ptr<gpu::Engine> held = std::exchange(engine, nullptr);
          const auto result = std::make_shared<gpu::EngineAudit>(gpu::audit(held, audit, cancelled));
          return [result](Napi::Env env) { return engineAuditValue(env, *result); };
        });
  });
}

}  // namespace nt::node
