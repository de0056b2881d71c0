// The way of an observed inference: all that is counted is asked for, none of it in memory of ours, and all of it is
// let go of once it was counted.
#include "lane.h"

namespace nt::cpu {

void Lane::askObserved() {
  asked_.clear();
  askedNames_.clear();
  for (const IoTensor& output : engine_->observer()->outputs()) {
    asked_.push_back(asked_.size());
    askedNames_.push_back(output.name.c_str());
  }
  got_.assign(asked_.size(), nullptr);
}

// Nothing is counted of an inference that fails: what can fail is done before.
void Lane::count() {
  Observer& observer = *engine_->observer();
  for (const std::size_t output : asked_) read(output, observer.outputs()[output]);
  for (const std::size_t output : asked_) {
    Result& result = results_[output];
    const std::size_t elements = byteSize(DType::float32, result.shape) / sizeof(float);
    observer.note(output, result.shape, {reinterpret_cast<const float*>(result.data), elements}, *scratch_);
    result.made.reset();
  }
}

}  // namespace nt::cpu
