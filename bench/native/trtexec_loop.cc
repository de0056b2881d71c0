// trtexec's loop with nothing around it: three streams, two queries under way, six events each, and what they tell,
// kept. For the enqueue of a model stands the fake driver's own function that takes as long as the device is told to.
// What a benchmark's own overhead is measured against.
#include <chrono>
#include <vector>

#include "driver_addon.h"

namespace {

using bare::check;
using bare::Pointer;
using Clock = std::chrono::steady_clock;

struct Query {
  void *inStart, *inEnd, *computeStart, *computeEnd, *outStart, *outEnd;
  Pointer device = 0;
  void* host = nullptr;
  Clock::time_point enqueueStart, enqueueEnd;
};

struct Times {
  float inStart, inEnd, computeStart, computeEnd, outStart, outEnd;
  double enqueue;
};

class Loop {
 public:
  explicit Loop(const bare::Driver& driver)
      : htod_(driver.symbol<int(Pointer, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")),
        dtoh_(driver.symbol<int(void*, Pointer, std::size_t, void*)>("cuMemcpyDtoHAsync_v2")),
        record_(driver.symbol<int(void*, void*)>("cuEventRecord")),
        synchronize_(driver.symbol<int(void*)>("cuEventSynchronize")),
        elapsed_(driver.symbol<int(float*, void*, void*)>("cuEventElapsedTime")),
        wait_(driver.symbol<int(void*, void*, unsigned)>("cuStreamWaitEvent")),
        enqueue_(driver.symbol<int(void*, void (*)(void*), void*, void (*)(void*), double)>("fakeEnqueue")),
        in_(driver.stream()),
        compute_(driver.stream()),
        out_(driver.stream()),
        start_(driver.event(0)) {
    constexpr unsigned kBlocking = 1;
    for (Query& query : queries_) {
      for (void** event :
           {&query.inStart, &query.inEnd, &query.computeStart, &query.computeEnd, &query.outStart, &query.outEnd})
        *event = driver.event(kBlocking);
      query.device = driver.deviceMemory();
      query.host = driver.pinnedMemory();
    }
  }

  // Microseconds of each of so many queries.
  double run(std::size_t bytes, int count) {
    times_.clear();
    check(record_(start_, in_));
    const auto begun = Clock::now();
    for (int i = 0; i < count; ++i) {
      begin(queries_[i % 2], bytes);
      if (i > 0) end(queries_[(i + 1) % 2]);
    }
    end(queries_[(count + 1) % 2]);
    return std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / count;
  }

 private:
  void begin(Query& query, std::size_t bytes) {
    check(record_(query.inStart, in_));
    check(htod_(query.device, query.host, bytes, in_));
    check(record_(query.inEnd, in_));
    check(wait_(compute_, query.inEnd, 0));
    check(record_(query.computeStart, compute_));
    query.enqueueStart = Clock::now();
    check(enqueue_(
        compute_, [](void*) {}, nullptr, [](void*) {}, -1));
    query.enqueueEnd = Clock::now();
    check(record_(query.computeEnd, compute_));
    check(wait_(out_, query.computeEnd, 0));
    check(record_(query.outStart, out_));
    check(dtoh_(query.host, query.device, bytes, out_));
    check(record_(query.outEnd, out_));
  }

  void end(const Query& query) {
    check(synchronize_(query.outEnd));
    const auto since = [&](void* event) {
      float milliseconds = 0;
      check(elapsed_(&milliseconds, start_, event));
      return milliseconds;
    };
    const std::chrono::duration<double, std::milli> enqueue = query.enqueueEnd - query.enqueueStart;
    times_.push_back({since(query.inStart), since(query.inEnd), since(query.computeStart), since(query.computeEnd),
                      since(query.outStart), since(query.outEnd), enqueue.count()});
  }

  int (*htod_)(Pointer, const void*, std::size_t, void*);
  int (*dtoh_)(void*, Pointer, std::size_t, void*);
  int (*record_)(void*, void*);
  int (*synchronize_)(void*);
  int (*elapsed_)(float*, void*, void*);
  int (*wait_)(void*, void*, unsigned);
  int (*enqueue_)(void*, void (*)(void*), void*, void (*)(void*), double);
  void *in_, *compute_, *out_, *start_;
  Query queries_[2];
  std::vector<Times> times_;
};

}  // namespace

NAPI_MODULE_INIT() { return bare::exportRun<Loop>(env, exports); }
