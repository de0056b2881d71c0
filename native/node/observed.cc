// observed(): what was counted of the outputs of a model on the CPU that was opened to be observed.
#include "../cpu/engine.h"
#include "handle.h"

namespace nt::node {
namespace {

// observed(): [{ name, shape, count, nonFinite, min, max, width, counts: Float64Array }], of the outputs that some
// inference has computed
std::vector<Napi::Object> observed(const Napi::CallbackInfo& info) {
  const auto& engine = dynamic_cast<const cpu::Engine&>(handleOf(info).open().engine());
  const cpu::Observer& observer = *engine.observer();
  std::vector<Napi::Object> all;
  for (std::size_t i = 0; i < observer.outputs().size(); ++i) {
    const cpu::Observer::Seen seen = observer.seen(i);
    if (!seen.any) continue;
    const cpu::Histogram& histogram = seen.histogram;
    const std::vector<double> counts(histogram.counts().begin(), histogram.counts().end());
    all.push_back(objectOf(info.Env(), Field("name", observer.outputs()[i].name), Field("shape", seen.shape),
                           Field("count", histogram.finite()), Field("nonFinite", histogram.nonFinite()),
                           Field("min", histogram.min()), Field("max", histogram.max()),
                           Field("width", histogram.width()), Field("counts", counts)));
  }
  return all;
}

}  // namespace

void exportObserved(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  const auto* cpu = dynamic_cast<const cpu::Engine*>(&handle->client->engine());
  if (cpu != nullptr && cpu->observer()) setFunctions(engine, handle, {{"observed", guarded<observed>}});
}

}  // namespace nt::node
