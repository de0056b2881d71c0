// Memory of JavaScript's that is given back by hand.
#include "exports.h"

namespace nt::node {
namespace {

// releaseMemory(buffer): it is detached, and its memory goes back now, not when the collector finds the time: a thread
// that decodes pictures would else collect its whole heap for every twenty of them. Nobody may be at work with it.
void releaseMemory(const Napi::CallbackInfo& info) {
  if (info.Length() < 1 || !info[0].IsArrayBuffer()) throwExpected("an ArrayBuffer", "buffer");
  info[0].As<Napi::ArrayBuffer>().Detach();
}

}  // namespace

void exportMemory(Napi::Object exports) { setFunctions(exports, {{"releaseMemory", guarded<releaseMemory>}}); }

}  // namespace nt::node
