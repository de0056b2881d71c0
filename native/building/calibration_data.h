// What a build is told of its calibration, and what it tells.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "../cuda/device.h"
#include "../tensorrt/calibrator.h"
#include "calibration_inputs.h"

namespace nt::building {

// Where batches come from. Asked on threads that build, one question at a time; an answer may take as long as it takes.
// Throws Error: ABORTED once the build is cancelled.
class CalibrationData {
 public:
  virtual ~CalibrationData() = default;
  // The text that an earlier calibration gave.
  virtual std::optional<std::string> cache() = 0;
  // Nothing when there are no more.
  virtual std::optional<CalibrationBatch> next() = 0;
};

struct CalibrationRequest {
  tensorrt::CalibrationAlgorithm algorithm = tensorrt::CalibrationAlgorithm::entropy;
  std::shared_ptr<CalibrationData> data;
  const cuda::DeviceContext* device = nullptr;
};

struct CalibrationFacts {
  tensorrt::CalibrationAlgorithm algorithm = tensorrt::CalibrationAlgorithm::entropy;
  // that TensorRT took
  int64_t batches = 0;
  // whether the ranges are those of an earlier calibration, so that no batch was asked for
  bool fromCache = false;
  // the text for a later one; empty where TensorRT gave none
  std::string cache;
};

}  // namespace nt::building
