// The least that an addon has to do to work off the main thread: a call from JavaScript wakes a thread, which calls
// back through a thread-safe function. What `infer`, one after another, is measured against.
#define NAPI_VERSION 9
#include <node_api.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

// leaked on purpose: the thread waits for it until the process is gone
std::mutex& mutex = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;
bool asked = false;
std::chrono::microseconds busy{0};  // how long the thread works before it answers
napi_threadsafe_function answer;

void serve() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [] { return asked; });
    asked = false;
    const auto until = std::chrono::steady_clock::now() + busy;
    const bool works = busy.count() > 0;
    lock.unlock();
    while (works && std::chrono::steady_clock::now() < until) continue;
    napi_call_threadsafe_function(answer, nullptr, napi_tsfn_nonblocking);
    lock.lock();
  }
}

void call(napi_env env, napi_value callback, void*, void*) {
  if (env == nullptr) return;
  napi_value undefined;
  napi_get_undefined(env, &undefined);
  napi_call_function(env, undefined, callback, 0, nullptr, nullptr);
}

// start(callback): makes the thread; once.
napi_value start(napi_env env, napi_callback_info info) {
  std::size_t count = 1;
  napi_value callback, name;
  napi_get_cb_info(env, info, &count, &callback, nullptr, nullptr);
  napi_create_string_utf8(env, "roundtrip", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, callback, nullptr, name, 0, 1, nullptr, nullptr, nullptr, call, &answer);
  std::thread(serve).detach();
  return nullptr;
}

// ask(milliseconds): the callback is called once, when the thread has worked so long.
napi_value ask(napi_env env, napi_callback_info info) {
  std::size_t count = 1;
  napi_value milliseconds;
  int32_t value = 0;
  napi_get_cb_info(env, info, &count, &milliseconds, nullptr, nullptr);
  napi_get_value_int32(env, milliseconds, &value);
  const std::lock_guard lock(mutex);
  asked = true;
  busy = std::chrono::milliseconds(value);
  changed.notify_one();
  return nullptr;
}

// end(): the process may end, though the thread still waits.
napi_value end(napi_env env, napi_callback_info) {
  napi_unref_threadsafe_function(env, answer);
  return nullptr;
}

void exportFunction(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
  napi_set_named_property(env, exports, name, function);
}

}  // namespace

NAPI_MODULE_INIT() {
  exportFunction(env, exports, "start", start);
  exportFunction(env, exports, "ask", ask);
  exportFunction(env, exports, "end", end);
  return exports;
}
