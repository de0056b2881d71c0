#include "audit.h"

#include "../gpu/audit.h"
#include "benchmark.h"
#include "handle.h"

namespace nt::node {

template <>
inline constexpr auto fieldsOf<gpu::LayerTime> =
    std::tuple(Field("name", &gpu::LayerTime::name), Field("averageMs", &gpu::LayerTime::average),
               Field("medianMs", &gpu::LayerTime::median));
template <>
inline constexpr auto fieldsOf<gpu::InputShape> =
    std::tuple(Field("name", &gpu::InputShape::name), Field("shape", &gpu::InputShape::shape));
template <>
inline constexpr auto fieldsOf<gpu::EngineAudit> =
    std::tuple(Field("layers", &gpu::EngineAudit::layers), Field("verbosity", &gpu::EngineAudit::verbosity),
               Field("document", &gpu::EngineAudit::document), Field("shapes", &gpu::EngineAudit::shapes),
               Field("times", &gpu::EngineAudit::times));

Napi::Value audit(const Napi::CallbackInfo& info) {
  const Napi::Object options = fromJs<Napi::Object>(info[0], "options");
  gpu::AuditOptions audit;
  audit.profile = property<int32_t>(options, "profile");
  audit.iterations = property(options, "iterations", audit.iterations);
  const EngineHandle& handle = handleOf(info);
  if (options.Has("inputs")) audit.inputs = tensorsOf(options.Get("inputs"), handle.open().engine().inputs());
  // shared: the engine stays while it is audited, whoever closes it
  auto engine = std::dynamic_pointer_cast<gpu::Engine>(handle.open().sharedEngine());
  if (!engine) throw Error("ERR_TRT_UNSUPPORTED", "Only an engine of TensorRT can be audited");
  return handle.environment->runCancellable(
      info.Env(), [engine = std::move(engine), audit](const std::atomic<bool>& cancelled) mutable {
        // let go of on this thread, before the promise is settled
        const std::shared_ptr<gpu::Engine> held = std::exchange(engine, nullptr);
        return gpu::audit(held, audit, cancelled);
      });
}

}  // namespace nt::node
