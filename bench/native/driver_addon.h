// What the bare loops on a CUDA driver share: finding its functions, and the addon around a loop.
#pragma once

#define NAPI_VERSION 9
#include <dlfcn.h>
#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace bare {

using Pointer = uint64_t;
constexpr std::size_t kMostBytes = 4096;

inline void check(int result) {
  if (result != 0) std::abort();
}

// What a loop is made of; all of it stays.
class Driver {
 public:
  explicit Driver(void* library) : library_(library) {
    void* context = nullptr;
    check(symbol<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0));
    check(symbol<int(void*)>("cuCtxSetCurrent")(context));
  }

  template <class Signature>
  Signature* symbol(const char* name) const {
    auto* found = reinterpret_cast<Signature*>(dlsym(library_, name));
    if (found == nullptr) std::abort();
    return found;
  }
  void* stream() const {
    void* stream = nullptr;
    check(symbol<int(void**, unsigned, int)>("cuStreamCreateWithPriority")(&stream, 1, 0));
    return stream;
  }
  void* event(unsigned flags) const {
    void* event = nullptr;
    check(symbol<int(void**, unsigned)>("cuEventCreate")(&event, flags));
    return event;
  }
  Pointer deviceMemory() const {
    Pointer memory = 0;
    check(symbol<int(Pointer*, std::size_t)>("cuMemAlloc_v2")(&memory, kMostBytes));
    return memory;
  }
  void* pinnedMemory() const {
    void* memory = nullptr;
    check(symbol<int(void**, std::size_t, unsigned)>("cuMemHostAlloc")(&memory, kMostBytes, 1));
    return memory;
  }

 private:
  void* library_;
};

// run(library, bytes, count): what Loop::run(bytes, count) gives, on this thread; bytes: kMostBytes at most. There is
// one loop, which stays.
template <class Loop>
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
  static Loop& loop = *new Loop(Driver(library));
  napi_value result;
  napi_create_double(env, loop.run(static_cast<std::size_t>(bytes), turns), &result);
  return result;
}

template <class Loop>
napi_value exportRun(napi_env env, napi_value exports) {
  napi_value function;
  napi_create_function(env, "run", NAPI_AUTO_LENGTH, run<Loop>, nullptr, &function);
  napi_set_named_property(env, exports, "run", function);
  return exports;
}

}  // namespace bare
