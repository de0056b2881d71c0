#include "environment.h"
#include "exports.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  nt::node::Environment::attach(env);
  nt::node::exportTables(env, exports);
  nt::node::exportSystem(env, exports);
  nt::node::exportBuild(env, exports);
  nt::node::exportCompletions(env, exports);
  nt::node::exportEngine(env, exports);
  nt::node::exportCpu(env, exports);
  nt::node::exportDeviceTensors(env, exports);
  nt::node::exportFileLock(env, exports);
  nt::node::exportFrames(env, exports);
  nt::node::exportRefit(env, exports);
  nt::node::exportModel(env, exports);
  nt::node::exportLog(env, exports);
  nt::node::exportStrokes(env, exports);
  nt::node::exportMemory(env, exports);
  nt::node::exportVisionTensor(env, exports);
  nt::node::exportVisionCandidates(env, exports);
  nt::node::exportVisionMasks(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(node_tensorrt, init)
