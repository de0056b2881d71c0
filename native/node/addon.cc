#include "environment.h"
#include "exports.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  using namespace nt::node;
  Environment::attach(env);
  for (const auto& each : {exportTables, exportSystem, exportBuild, exportCompletions, exportEngine, exportCpu,
                           exportDeviceTensors, exportFileLock, exportFrames, exportRefit, exportModel, exportLog,
                           exportStrokes, exportVisionTensor, exportVisionCandidates, exportVisionMasks})
    each(exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(node_tensorrt, init)
