// That work overlaps: two slots against one, four lanes against one, on the fake's real clock. How much is the bench's
// matter (bench/core.ts, slots and lanes, which have the goals): a machine with other things to do overlaps less, but
// never as little as what waits in line.
#include <cstdio>
#include <functional>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

// Requests per second, all asked for at once.
double throughput(const char* plan, const SessionOptions& options, int requests, int64_t columns) {
  Rig rig(plan, options);
  const std::vector<float> x = numbers(1, columns, 1);
  CHECK_EQ(codeOf(rig.infer({input({1, columns}, x)}).failure), "");
  const auto start = Clock::now();
  std::vector<uint64_t> asked;
  for (int i = 0; i < requests; ++i) asked.push_back(rig.submit({input({1, columns}, x)}));
  for (const uint64_t request : asked) CHECK_EQ(codeOf(rig.take(request).failure), "");
  return requests / std::chrono::duration<double>(Clock::now() - start).count();
}

// Sanitizers slow everything but the sleeps, and not evenly: there only that it works is looked at.
bool measured() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

// The best of three: another process may have had the cores meanwhile.
void atLeast(const char* what, double wanted, const std::function<double()>& measure) {
  double factor = 0;
  for (int attempt = 0; attempt < (measured() ? 3 : 1) && factor < wanted; ++attempt)
    factor = std::max(factor, measure());
  char text[120];
  std::snprintf(text, sizeof text, "%s: %.2f x", what, factor);
  test::say(text);
  if (measured())
    test::note(factor >= wanted, __FILE__, __LINE__, std::string(text) + ", wanted " + std::to_string(wanted));
}

}  // namespace

TEST("timing: two slots overlap copying with computing") {
  fakes::reset();
  fakes::driver("copyMs", "5");
  fakes::driver("computeMs", "5");
  SessionOptions one, two;
  one.lane.slots = 1;
  const int requests = measured() ? 24 : 6;
  atLeast("two slots against one, copy 5 ms and compute 5 ms", 1.15, [&] {
    const double single = throughput(plans::large, one, requests, 12288);
    return throughput(plans::large, two, requests, 12288) / single;
  });
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("timing: four lanes against one when the enqueue blocks, or the device computes") {
  SessionOptions one, four;
  four.lanes = 4;
  const int requests = measured() ? 64 : 8;
  const auto measure = [&] {
    const double single = throughput(plans::scale, one, requests / 4, 3);
    return throughput(plans::scale, four, requests, 3) / single;
  };
  fakes::reset();
  fakes::driver("blockMs", "10");
  one.lane.captureGraphs = four.lane.captureGraphs = false;  // a graph's launch does not block
  atLeast("four lanes against one, enqueue blocks 10 ms", 1.5, measure);
  fakes::reset();
  fakes::driver("computeMs", "10");
  one.lane.slots = four.lane.slots = 1;
  atLeast("four lanes against one, 10 ms on the device", 1.5, measure);
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("timing: the times of a batch are the device's") {
  fakes::reset();
  fakes::driver("clock", "virtual");
  fakes::driver("copyMs", "2");
  fakes::driver("computeMs", "7");
  {
    Rig rig(plans::large);
    const Completion done = rig.infer({input({1, 12288}, numbers(1, 12288, 1))});
    CHECK_EQ(done.timing.copyIn, 2.0F);
    CHECK_EQ(done.timing.compute, 7.0F);
    CHECK_EQ(done.timing.copyOut, 2.0F);
    CHECK_EQ(rig.session->stats()[nt::execution::Duration::compute].p99, 7.0F);
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("timing: 64 single requests with maxBatch 16 are four enqueues") {
  fakes::reset();
  {
    Rig rig(plans::scale, merging(16, 1h));  // only full batches leave
    std::vector<uint64_t> asked;
    for (int i = 0; i < 64; ++i) asked.push_back(rig.submit({input({1, 3}, numbers(1, 3, i))}));
    for (int i = 0; i < 64; ++i)
      CHECK_EQ(values<float>(rig.take(asked[static_cast<std::size_t>(i)]).outputs[0]), scaled(numbers(1, 3, i)));
    CHECK_EQ(fakes::driverCounts().at("executions"), 4);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 4u);
  }
  CHECK_NOTHING_LIVE();
}
