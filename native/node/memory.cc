// Memory of JavaScript's that is given back by hand.
#include "errors.h"
#include "exports.h"
#include "values.h"

namespace nt::node {
namespace {

// releaseMemory(buffer): it is detached, and its memory goes back now, not when the collector finds the time: a thread
// that decodes pictures would else collect its whole heap for every twenty of them. Nobody may be at work with it.
Napi::Value releaseMemory(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    if (info.Length() < 1 || !info[0].IsArrayBuffer()) throwExpected("an ArrayBuffer", "buffer");
    info[0].As<Napi::ArrayBuffer>().Detach();
    return info.Env().Undefined();
  });
}

}  // namespace

void exportMemory(Napi::Env env, Napi::Object exports) {
  exports.Set("releaseMemory", Napi::Function::New(env, releaseMemory, "releaseMemory"));
}

}  // namespace nt::node
