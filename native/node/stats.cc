// What an engine has done, as JavaScript sees it: stats(), counters(), and observed(), what was counted of the outputs
// of a model on the CPU that was opened to be observed.
#include "../cpu/engine.h"
#include "handle.h"

namespace nt::node {

using execution::Counters;
using Percentiles = execution::Samples::Percentiles;

template <>
inline constexpr auto fieldsOf<Percentiles> =
    std::tuple(Field("p50", &Percentiles::p50), Field("p95", &Percentiles::p95), Field("p99", &Percentiles::p99),
               Field("count", &Percentiles::count));
template <>
inline constexpr auto fieldsOf<Counters::OfSize> =
    std::tuple(Field("rows", &Counters::OfSize::rows), Field("executions", &Counters::OfSize::executions),
               Field("requests", &Counters::OfSize::requests),
               Field("queueNs", [](const Counters::OfSize& size) { return size.sums.queue; }),
               Field("inputNs", [](const Counters::OfSize& size) { return size.sums.input; }),
               Field("computeNs", [](const Counters::OfSize& size) { return size.sums.compute; }),
               Field("outputNs", [](const Counters::OfSize& size) { return size.sums.output; }));

namespace {

// Without counters.
Report statsOf(const execution::Session& session) {
  Report report;
  // in the order in which a request comes through them: one that ends meanwhile is under way still, or counted
  report.waiting = session.waiting();
  report.inFlight = session.running();
  report.stats = session.stats();
  return report;
}

Napi::Object statsValue(Napi::Env env, const Report& report) {
  const Napi::Object object = objectOf(env, Field("waiting", report.waiting), Field("inFlight", report.inFlight));
  const auto& [counts, durations] = report.stats;
  for (std::size_t i = 0; i < counts.size(); ++i) object.Set(execution::kCountNames[i], toJs(env, counts[i]));
  for (std::size_t i = 0; i < durations.size(); ++i) object.Set(execution::kDurationNames[i], toJs(env, durations[i]));
  return object;
}

Napi::Object countersValue(Napi::Env env, const Counters::Snapshot& all) {
  const Napi::Object failures = objectOf(env, Field("rejected", all.rejected), Field("queueTimeout", all.timedOut),
                                         Field("cancelledWaiting", all.cancelledWaiting),
                                         Field("cancelledRunning", all.cancelledRunning), Field("failed", all.failed));
  const Napi::Object sampled = objectOf(env, Field("executions", all.sampled), Field("copyInNs", all.device.input),
                                        Field("computeNs", all.device.compute), Field("copyOutNs", all.device.output));
  return objectOf(env, Field("requests", all.requests), Field("rows", all.rows), Field("executions", all.executions),
                  Field("queueNs", all.sums.queue), Field("inputNs", all.sums.input),
                  Field("computeNs", all.sums.compute), Field("outputNs", all.sums.output), Field("failures", failures),
                  Field("sampled", sampled), Field("batchSizes", all.sizes));
}

Napi::Value stats(const Napi::CallbackInfo& info) {
  return statsValue(info.Env(), statsOf(*handleOf(info).open().session()));
}

// counters(): sums since the session began
Napi::Value counters(const Napi::CallbackInfo& info) {
  return countersValue(info.Env(), handleOf(info).open().session()->counters());
}

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

Report reportOf(const execution::Session& session) {
  Report report = statsOf(session);
  report.counters = session.counters();
  return report;
}

Napi::Object reportValue(Napi::Env env, const Report& report) {
  return objectOf(env, Field("stats", statsValue(env, report)), Field("counters", countersValue(env, report.counters)));
}

void exportStats(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  setFunctions(engine, handle, {{"stats", guarded<stats>}, {"counters", guarded<counters>}});
  const auto* cpu = dynamic_cast<const cpu::Engine*>(&handle->client->engine());
  if (cpu != nullptr && cpu->observer()) setFunctions(engine, handle, {{"observed", guarded<observed>}});
}

}  // namespace nt::node
