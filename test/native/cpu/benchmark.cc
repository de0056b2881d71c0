// Benchmarks: as many threads as there are streams, beside a session.
#include <thread>

#include "rig.h"

using namespace rig;
using nt::execution::BenchmarkOptions;
using nt::execution::BenchmarkResult;
using nt::execution::BenchmarkWatch;

namespace {

BenchmarkOptions optionsFor(const std::vector<float>& x) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(x.data());
  BenchmarkOptions options;
  options.inputs = {{{4, 3}, {bytes, bytes + x.size() * sizeof(float)}}};
  options.streams = 2;
  options.threads = true;
  options.warmUp = options.duration = 0;
  options.iterations = 20;
  options.outputs = true;
  return options;
}

}  // namespace

TEST("benchmark: two streams on two threads, beside inferences, and a cancel") {
  const std::vector<float> x = numbers(4, 3, 1);
  {
    Rig rig(models::scale());
    std::atomic<bool> cancelled{false};
    BenchmarkWatch watch(cancelled);
    std::thread user([&] {
      for (int i = 0; i < 30; ++i) {
        const std::vector<float> own = numbers(2, 3, i);
        CHECK(scaledRight(rig.infer({input({2, 3}, own)}), own));
      }
    });
    BenchmarkOptions options = optionsFor(x);
    const BenchmarkResult result = rig.session->engine().benchmark(options, watch);
    user.join();
    CHECK_EQ(result.queries.size(), 40u);
    CHECK_EQ(result.endToEnd.size(), 20u);
    std::vector<float> y(12);
    std::memcpy(y.data(), result.outputs.at(0).bytes.data(), result.outputs.at(0).bytes.size());
    CHECK(y == scaled(x));
    for (const auto& query : result.queries) CHECK(query.compute > 0 && query.copyIn == 0 && query.copyOut == 0);

    options.duration = 1e9;
    std::thread canceller([&] {
      while (watch.elapsed() <= 0) std::this_thread::yield();
      cancelled = true;
    });
    CHECK_CODE("ABORTED", rig.session->engine().benchmark(options, watch));
    canceller.join();
    options.inputs[0].shape = {2, 4};
    cancelled = false;
    BenchmarkWatch another(cancelled);
    CHECK_CODE("ERR_TRT_SHAPE", rig.session->engine().benchmark(options, another));
  }
  CHECK_NOTHING_LIVE();
}
