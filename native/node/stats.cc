// What an engine has done, as JavaScript sees it: stats() and counters().
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

Napi::Value stats(const Napi::CallbackInfo& info) {
  const execution::Session& session = *handleOf(info).open().session();
  // in the order in which a request comes through them: one that ends meanwhile is under way still, or counted
  const std::size_t waiting = session.waiting();
  const std::size_t inFlight = session.running();
  const execution::Stats::Snapshot all = session.stats();
  return objectOf(info.Env(), Field("waiting", waiting), Field("inFlight", inFlight),
                  Field("completed", all.counts.requests), Field("failed", all.counts.failures),
                  Field("cancelled", all.counts.cancelled), Field("batches", all.counts.batches),
                  Field("bytesCopied", all.counts.bytesCopied), Field("queueMs", all.queue),
                  Field("copyInMs", all.copyIn), Field("computeMs", all.compute), Field("copyOutMs", all.copyOut));
}

// counters(): sums since the session began
Napi::Value counters(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Counters::Snapshot all = handleOf(info).open().session()->counters();
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

}  // namespace

void exportStats(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  setFunctions(engine, handle, {{"stats", guarded<stats>}, {"counters", guarded<counters>}});
}

}  // namespace nt::node
