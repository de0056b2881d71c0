#include "observing_lane.h"

namespace nt::cpu {

void ObservingLane::bindOutputs() {
  asked_.clear();
  askedNames_.clear();
  for (const IoTensor& output : observer_.outputs()) {
    asked_.push_back(asked_.size());
    askedNames_.push_back(output.name.c_str());
  }
  got_.assign(asked_.size(), nullptr);
}

// Nothing is counted of an inference that fails: what can fail is done before.
void ObservingLane::readOutputs() {
  for (const std::size_t output : asked_) read(output, observer_.outputs()[output]);
  for (const std::size_t output : asked_) {
    Result& result = results_[output];
    const std::size_t elements = byteSize(DType::float32, result.shape) / sizeof(float);
    observer_.note(output, result.shape, {reinterpret_cast<const float*>(result.data), elements}, *scratch_);
    result.made.reset();
  }
}

}  // namespace nt::cpu
