// ONNX → plan with one TensorRT library: parse, check, profiles, build.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../tensorrt/interfaces.h"
#include "../tensorrt/progress.h"
#include "audit.h"
#include "calibration_data.h"
#include "options.h"
#include "timing_cache.h"

namespace nt::building {

// The shapes that one optimization profile allows for one input; of a shape tensor, the values.
struct InputShapes {
  std::string name;
  ShapeRange range;
};

// In the order that the user gave them.
using ProfileShapes = std::vector<InputShapes>;

struct Request {
  // The model, or the path of its file when `model` is empty.
  std::vector<uint8_t> model;
  std::string path;
  std::vector<ProfileShapes> profiles;
  Options options;
  TimingCacheRequest timingCache;
  std::optional<CalibrationRequest> calibration;
  // Stop after the parse: no profiles are needed, no configuration is made, and the result has no plan.
  bool parseOnly = false;
};

struct Result {
  // null where only the parse was asked for; then nothing of the configuration is known either
  std::unique_ptr<tensorrt::HostMemory> plan;
  NetworkAudit audit;
  // as the library itself reports them
  Options settings;
  std::optional<TimingCacheFacts> timingCache;  // where one was asked for
  std::optional<CalibrationFacts> calibration;  // likewise
  double parseMs = 0;
  double buildMs = 0;
};

// Runs on the calling thread, for up to minutes. `cancelled` is looked at between TensorRT's steps. Throws Error.
Result build(const tensorrt::Library& library, const Request& request, tensorrt::ProgressMonitor::Listener onProgress,
             const std::atomic<bool>& cancelled);

}  // namespace nt::building
