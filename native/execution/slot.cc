#include "slot.h"

namespace nt::execution {

using Use = cuda::OwnedEvent::Use;

Slot::Slot(const Engine& engine, int64_t number)
    : device(engine.device()),
      number(number),
      allocators(engine.outputs().size()),
      copiedIn(device, Use::order),
      computed(device, Use::order),
      done(device, Use::order) {
  for (std::size_t i = 0; i < engine.inputs().size(); ++i) inputs.push_back(std::make_unique<cuda::DeviceBuffer>(device));
  for (std::size_t i = 0; i < engine.outputs().size(); ++i) outputs.push_back(std::make_unique<cuda::DeviceBuffer>(device));
}

bool Slot::reserve(const std::vector<std::size_t>& inputBytes, const std::vector<std::size_t>& outputBytes) {
  bool moved = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) moved = inputs[i]->reserve(inputBytes[i]) || moved;
  for (std::size_t i = 0; i < outputs.size(); ++i) moved = outputs[i]->reserve(outputBytes[i]) || moved;
  return moved;
}

Slot::Clocks::Clocks(const cuda::DeviceContext& device)
    : copyInStart(device, Use::timing),
      copyInEnd(device, Use::timing),
      computeStart(device, Use::timing),
      computeEnd(device, Use::timing),
      copyOutEnd(device, Use::timing) {}

Slot::Clocks& Slot::clocks() {
  if (!clocks_) clocks_ = std::make_unique<Clocks>(device);
  return *clocks_;
}

}  // namespace nt::execution
