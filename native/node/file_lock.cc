// lockFile(): the turn of one process, thread or caller at a file.
#include "../base/file_lock.h"

#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "values.h"

namespace nt::node {
namespace {

// The lock goes with the last function that holds it: at a collection of garbage or at the environment's end at the
// latest.
Napi::Value lockValue(Napi::Env env, const std::shared_ptr<FileLock>& lock) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("release", Napi::Function::New(env, [lock](const Napi::CallbackInfo&) { lock->release(); }));
  return value;
}

// lockFile(path): { promise, cancel() }
Napi::Value lockFile(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::string path = textArgument(info, 0, "path");
    const auto cancelled = std::make_shared<std::atomic<bool>>(false);
    const Napi::Promise promise = Environment::of(info.Env())
                                      ->run(
                                          info.Env(),
                                          [path, cancelled]() -> Environment::Finish {
                                            const auto lock = std::make_shared<FileLock>(path, *cancelled);
                                            return [lock](Napi::Env env) { return lockValue(env, lock); };
                                          },
                                          [cancelled] { cancelled->store(true); });
    const Napi::Object handle = Napi::Object::New(info.Env());
    handle.Set("promise", promise);
    handle.Set("cancel",
               Napi::Function::New(info.Env(), [cancelled](const Napi::CallbackInfo&) { cancelled->store(true); }));
    return handle;
  });
}

}  // namespace

void exportFileLock(Napi::Env env, Napi::Object exports) {
  exports.Set("lockFile", Napi::Function::New(env, lockFile));
}

}  // namespace nt::node
