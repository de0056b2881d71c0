// The least that one thread has to do for an inference with the CUDA driver: copy in, something that takes no time (a
// model that does nothing), copy out, an event, and asking until it has come. What a lone request is measured against.
#include <chrono>

#include "driver_addon.h"

namespace {

using bare::Pointer;
constexpr int kNotReady = 600;

class Loop {
 public:
  explicit Loop(const bare::Driver& driver)
      : htod_(driver.symbol<int(Pointer, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")),
        dtoh_(driver.symbol<int(void*, Pointer, std::size_t, void*)>("cuMemcpyDtoHAsync_v2")),
        record_(driver.symbol<int(void*, void*)>("cuEventRecord")),
        query_(driver.symbol<int(void*)>("cuEventQuery")),
        stream_(driver.stream()),
        event_(driver.event(kNoTiming)),
        computed_(driver.event(kNoTiming)),
        host_(driver.pinnedMemory()),
        memory_(driver.deviceMemory()) {}

  // Microseconds of each turn.
  double run(std::size_t bytes, int turns) const {
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < turns; ++i) once(bytes);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begun;
    return time.count() / turns;
  }

 private:
  static constexpr unsigned kNoTiming = 2;

  void once(std::size_t bytes) const {
    bare::check(htod_(memory_, host_, bytes, stream_));
    bare::check(record_(computed_, stream_));
    bare::check(dtoh_(host_, memory_, bytes, stream_));
    bare::check(record_(event_, stream_));
    int state = 0;
    while ((state = query_(event_)) == kNotReady) continue;
    bare::check(state);
  }

  int (*htod_)(Pointer, const void*, std::size_t, void*);
  int (*dtoh_)(void*, Pointer, std::size_t, void*);
  int (*record_)(void*, void*);
  int (*query_)(void*);
  void *stream_, *event_, *computed_, *host_;
  Pointer memory_;
};

}  // namespace

NAPI_MODULE_INIT() { return bare::exportRun<Loop>(env, exports); }
