// observed(): what was counted of the outputs of a model on the CPU that was opened to be observed.
#include "../cpu/engine.h"
#include "errors.h"
#include "handle.h"

namespace nt::node {
namespace {

Napi::Float64Array binsValue(Napi::Env env, std::span<const uint64_t> counts) {
  Napi::Float64Array value = Napi::Float64Array::New(env, counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) value[i] = static_cast<double>(counts[i]);
  return value;
}

Napi::Object seenValue(Napi::Env env, const std::string& name, const cpu::Observer::Seen& seen) {
  const cpu::Histogram& histogram = seen.histogram;
  const Napi::Object value = Napi::Object::New(env);
  value.Set("name", name);
  value.Set("shape", shapeValue(env, seen.shape));
  value.Set("count", static_cast<double>(histogram.finite()));
  value.Set("nonFinite", static_cast<double>(histogram.nonFinite()));
  value.Set("min", static_cast<double>(histogram.min()));
  value.Set("max", static_cast<double>(histogram.max()));
  value.Set("width", histogram.width());
  value.Set("counts", binsValue(env, histogram.counts()));
  return value;
}

// observed(): [{ name, shape, count, nonFinite, min, max, width, counts: Float64Array }], of the outputs that some
// inference has computed
Napi::Value observed(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const auto& engine = dynamic_cast<const cpu::Engine&>(handleOf(info).open().engine());
    const cpu::Observer& observer = *engine.observer();
    const Napi::Array array = Napi::Array::New(info.Env());
    for (std::size_t i = 0; i < observer.outputs().size(); ++i) {
      const cpu::Observer::Seen seen = observer.seen(i);
      if (seen.any) array.Set(array.Length(), seenValue(info.Env(), observer.outputs()[i].name, seen));
    }
    return array;
  });
}

}  // namespace

void exportObserved(Napi::Env env, Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  const auto* cpu = dynamic_cast<const cpu::Engine*>(&handle->client->engine());
  if (cpu != nullptr && cpu->observer()) engine.Set("observed", keeping(env, observed, "observed", handle));
}

}  // namespace nt::node
