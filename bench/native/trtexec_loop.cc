// trtexec's loop with nothing around it: three streams, two queries under way, six events each, and what they tell,
// kept. For the enqueue of a model stands the fake driver's own function that takes as long as the device is told to.
// What a benchmark's own overhead is measured against.
#define NAPI_VERSION 9
#include <dlfcn.h>
#include <node_api.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Pointer = uint64_t;
using Clock = std::chrono::steady_clock;

template <class Signature>
void find(Signature*& function, void* driver, const char* name) {
  function = reinterpret_cast<Signature*>(dlsym(driver, name));
  if (function == nullptr) std::abort();
}

void check(int result) {
  if (result != 0) std::abort();
}

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
  explicit Loop(void* library) {
    void* context = nullptr;
    int (*retain)(void**, int);
    int (*setCurrent)(void*);
    int (*createStream)(void**, unsigned, int);
    int (*createEvent)(void**, unsigned);
    int (*allocate)(Pointer*, std::size_t);
    int (*allocateHost)(void**, std::size_t, unsigned);
    find(retain, library, "cuDevicePrimaryCtxRetain");
    find(setCurrent, library, "cuCtxSetCurrent");
    find(createStream, library, "cuStreamCreateWithPriority");
    find(createEvent, library, "cuEventCreate");
    find(allocate, library, "cuMemAlloc_v2");
    find(allocateHost, library, "cuMemHostAlloc");
    find(htod_, library, "cuMemcpyHtoDAsync_v2");
    find(dtoh_, library, "cuMemcpyDtoHAsync_v2");
    find(record_, library, "cuEventRecord");
    find(synchronize_, library, "cuEventSynchronize");
    find(elapsed_, library, "cuEventElapsedTime");
    find(wait_, library, "cuStreamWaitEvent");
    find(enqueue_, library, "fakeEnqueue");
    check(retain(&context, 0));
    check(setCurrent(context));
    constexpr unsigned kBlocking = 1;
    for (void** stream : {&in_, &compute_, &out_}) check(createStream(stream, 1, 0));
    check(createEvent(&start_, 0));
    for (Query& query : queries_) {
      for (void** event :
           {&query.inStart, &query.inEnd, &query.computeStart, &query.computeEnd, &query.outStart, &query.outEnd})
        check(createEvent(event, kBlocking));
      check(allocate(&query.device, 4096));
      check(allocateHost(&query.host, 4096, 1));
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
  void *in_ = nullptr, *compute_ = nullptr, *out_ = nullptr, *start_ = nullptr;
  Query queries_[2];
  std::vector<Times> times_;
};

// run(library, bytes, count): microseconds of each query, on this thread; bytes: 4096 at most. Its objects stay.
napi_value run(napi_env env, napi_callback_info info) {
  std::size_t count = 3, length = 0;
  napi_value arguments[3];
  char path[4096];
  int32_t bytes = 0, queries = 0;
  napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr);
  napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &length);
  napi_get_value_int32(env, arguments[1], &bytes);
  napi_get_value_int32(env, arguments[2], &queries);
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  static Loop& loop = *new Loop(library);
  napi_value result;
  napi_create_double(env, loop.run(static_cast<std::size_t>(bytes), queries), &result);
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, nullptr, &function);
  napi_set_named_property(env, exports, "run", function);
  return exports;
}
