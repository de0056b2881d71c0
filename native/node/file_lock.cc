// lockFile(): the turn of one process, thread or caller at a file.
#include "../base/file_lock.h"

#include "environment.h"
#include "exports.h"

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
  const std::string path = fromJs<std::string>(info[0], "path");
  return Environment::of(info.Env())
      ->runCancellable(info.Env(), [path](const std::atomic<bool>& cancelled) -> Environment::Finish {
        const auto lock = std::make_shared<FileLock>(path, cancelled);
        return [lock](Napi::Env env) { return lockValue(env, lock); };
      });
}

}  // namespace

void exportFileLock(Napi::Object exports) { setFunctions(exports, {{"lockFile", guarded<lockFile>}}); }

}  // namespace nt::node
