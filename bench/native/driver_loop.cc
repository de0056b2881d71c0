// The least that one thread has to do for an inference with the CUDA driver: copy in, something that takes no time (a
// model that does nothing), copy out, an event, and asking until it has come. What a lone request is measured against.
#define NAPI_VERSION 9
#include <dlfcn.h>
#include <node_api.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

using Pointer = uint64_t;
constexpr int kNotReady = 600;

template <class Signature>
Signature* symbol(void* driver, const char* name) {
  auto* found = reinterpret_cast<Signature*>(dlsym(driver, name));
  if (found == nullptr) std::abort();
  return found;
}

struct Driver {
  explicit Driver(void* library)
      : htod(symbol<int(Pointer, const void*, std::size_t, void*)>(library, "cuMemcpyHtoDAsync_v2")),
        dtoh(symbol<int(void*, Pointer, std::size_t, void*)>(library, "cuMemcpyDtoHAsync_v2")),
        record(symbol<int(void*, void*)>(library, "cuEventRecord")),
        query(symbol<int(void*)>(library, "cuEventQuery")) {
    void* context = nullptr;
    symbol<int(void**, int)>(library, "cuDevicePrimaryCtxRetain")(&context, 0);
    symbol<int(void*)>(library, "cuCtxSetCurrent")(context);
    symbol<int(void**, unsigned, int)>(library, "cuStreamCreateWithPriority")(&stream, 1, 0);
    symbol<int(void**, unsigned)>(library, "cuEventCreate")(&event, 2);
    symbol<int(void**, unsigned)>(library, "cuEventCreate")(&computed, 2);
    symbol<int(Pointer*, std::size_t)>(library, "cuMemAlloc_v2")(&memory, 4096);
    symbol<int(void**, std::size_t, unsigned)>(library, "cuMemHostAlloc")(&host, 4096, 1);
  }

  // Whether all went well.
  bool once(std::size_t bytes) const {
    if (htod(memory, host, bytes, stream) != 0 || record(computed, stream) != 0 ||
        dtoh(host, memory, bytes, stream) != 0 || record(event, stream) != 0) {
      return false;
    }
    int state = 0;
    while ((state = query(event)) == kNotReady) continue;
    return state == 0;
  }

  int (*htod)(Pointer, const void*, std::size_t, void*);
  int (*dtoh)(void*, Pointer, std::size_t, void*);
  int (*record)(void*, void*);
  int (*query)(void*);
  void* stream = nullptr;
  void* event = nullptr;
  void* computed = nullptr;
  void* host = nullptr;
  Pointer memory = 0;
};

// run(library, bytes, count): microseconds of each turn, on this thread; bytes: 4096 at most. Its objects stay.
napi_value run(napi_env env, napi_callback_info info) {
  std::size_t count = 3, length = 0;
  napi_value arguments[3];
  char path[4096];
  int32_t bytes = 0, turns = 0;
  napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr);
  napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &length);
  napi_get_value_int32(env, arguments[1], &bytes);
  napi_get_value_int32(env, arguments[2], &turns);
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  static const Driver driver(library);
  const auto begun = std::chrono::steady_clock::now();
  for (int32_t i = 0; i < turns; ++i) {
    if (!driver.once(static_cast<std::size_t>(bytes))) std::abort();
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begun;
  napi_value result;
  napi_create_double(env, time.count() / turns, &result);
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, nullptr, &function);
  napi_set_named_property(env, exports, "run", function);
  return exports;
}
