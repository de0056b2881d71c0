// Benchmarks: as many threads as there are streams, beside a session.
#include "../support/benchmark.h"

#include "rig.h"

using namespace rig;

TEST("benchmark: two streams on two threads, beside inferences, and a cancel") {
  const std::vector<float> x = numbers(4, 3, 1);
  {
    Rig rig(models::scale());
    std::atomic<bool> cancelled{false};
    BenchmarkWatch watch(cancelled);
    BenchmarkOptions options = threaded(x, 2);
    const BenchmarkResult result = besideInferences(rig, options, watch);
    checkMeasured(result, options, x);
    for (const auto& query : result.queries) CHECK(query.compute > 0 && query.copyIn == 0 && query.copyOut == 0);

    options.duration = 1e9;
    checkCancelled(rig.session->engine(), options);
    options.inputs[0].shape = {2, 4};
    BenchmarkWatch another(cancelled);
    CHECK_CODE("ERR_TRT_SHAPE", rig.session->engine().benchmark(options, another));
  }
  CHECK_NOTHING_LIVE();
}
