// What an engine has done, as JavaScript sees it: stats() and counters().
#include "errors.h"
#include "handle.h"
#include "values.h"

namespace nt::node {
namespace {

using execution::Counters;
using execution::Session;

Napi::Object numbersValue(Napi::Env env, std::initializer_list<std::pair<const char*, uint64_t>> numbers) {
  const Napi::Object value = Napi::Object::New(env);
  for (const auto& [name, number] : numbers) value.Set(name, static_cast<double>(number));
  return value;
}

Napi::Object percentilesValue(Napi::Env env, const execution::Samples::Percentiles& percentiles) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("p50", percentiles.p50);
  value.Set("p95", percentiles.p95);
  value.Set("p99", percentiles.p99);
  value.Set("count", static_cast<double>(percentiles.count));
  return value;
}

Napi::Value stats(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Env env = info.Env();
    const Session& session = *handleOf(info).open().session();
    // in the order in which a request comes through them: one that ends meanwhile is under way still, or counted
    const auto waiting = static_cast<double>(session.waiting());
    const auto inFlight = static_cast<double>(session.running());
    const execution::Stats::Snapshot snapshot = session.stats();
    const Napi::Object value = Napi::Object::New(env);
    value.Set("waiting", waiting);
    value.Set("inFlight", inFlight);
    value.Set("completed", static_cast<double>(snapshot.counts.requests));
    value.Set("failed", static_cast<double>(snapshot.counts.failures));
    value.Set("cancelled", static_cast<double>(snapshot.counts.cancelled));
    value.Set("batches", static_cast<double>(snapshot.counts.batches));
    value.Set("bytesCopied", static_cast<double>(snapshot.counts.bytesCopied));
    value.Set("queueMs", percentilesValue(env, snapshot.queue));
    value.Set("copyInMs", percentilesValue(env, snapshot.copyIn));
    value.Set("computeMs", percentilesValue(env, snapshot.compute));
    value.Set("copyOutMs", percentilesValue(env, snapshot.copyOut));
    return value;
  });
}

// counters(): sums since the session began
Napi::Value counters(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Env env = info.Env();
    const Counters::Snapshot all = handleOf(info).open().session()->counters();
    const Napi::Object value = numbersValue(env, {{"requests", all.requests},
                                                  {"rows", all.rows},
                                                  {"executions", all.executions},
                                                  {"queueNs", all.sums.queue},
                                                  {"inputNs", all.sums.input},
                                                  {"computeNs", all.sums.compute},
                                                  {"outputNs", all.sums.output}});
    value.Set("failures", numbersValue(env, {{"rejected", all.rejected},
                                             {"queueTimeout", all.timedOut},
                                             {"cancelledWaiting", all.cancelledWaiting},
                                             {"cancelledRunning", all.cancelledRunning},
                                             {"failed", all.failed}}));
    value.Set("sampled", numbersValue(env, {{"executions", all.sampled},
                                            {"copyInNs", all.device.input},
                                            {"computeNs", all.device.compute},
                                            {"copyOutNs", all.device.output}}));
    const Napi::Array sizes = Napi::Array::New(env);
    for (const Counters::OfSize& size : all.sizes) {
      sizes.Set(sizes.Length(), numbersValue(env, {{"rows", static_cast<uint64_t>(size.rows)},
                                                   {"executions", size.executions},
                                                   {"requests", size.requests},
                                                   {"queueNs", size.sums.queue},
                                                   {"inputNs", size.sums.input},
                                                   {"computeNs", size.sums.compute},
                                                   {"outputNs", size.sums.output}}));
    }
    value.Set("batchSizes", sizes);
    return value;
  });
}

}  // namespace

void exportStats(Napi::Env env, Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  engine.Set("stats", keeping(env, stats, "stats", handle));
  engine.Set("counters", keeping(env, counters, "counters", handle));
}

}  // namespace nt::node
