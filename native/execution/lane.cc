#include "lane.h"

#include <algorithm>
#include <cstring>

#include "../base/text.h"

namespace nt::execution {
namespace {

bool fits(const ShapeRange& range, const Shape& shape) {
  if (shape.size() != range.min.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < range.min[i] || shape[i] > range.max[i]) return false;
  }
  return true;
}

}  // namespace

Lane::Lane(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), stream_(engine_->device()), context_(engine_->createContext()) {
  for (std::size_t i = 0; i < engine_->inputs().size(); ++i)
    inputs_.push_back(std::make_unique<Buffers>(engine_->device()));
  for (std::size_t i = 0; i < engine_->outputs().size(); ++i)
    outputs_.push_back(std::make_unique<Buffers>(engine_->device()));
}

std::vector<OutputTensor> Lane::run(const std::vector<InputTensor>& inputs) {
  try {
    setShapes(inputs);
    copyIn(inputs);
    std::vector<OutputTensor> outputs = bindOutputs();
    check(context_->enqueue(stream_.get()), "enqueueV3");
    copyOut(outputs);
    return outputs;
  } catch (...) {
    // the next call writes to the same buffers: let what was started end first
    engine_->device().driver().streamSynchronize(stream_.get());
    throw;
  }
}

int32_t Lane::profileFor(const std::vector<InputTensor>& inputs) const {
  for (int32_t profile = 0; profile < engine_->profiles(); ++profile) {
    bool all = true;
    for (std::size_t i = 0; i < inputs.size() && all; ++i) {
      const IoTensor& tensor = engine_->inputs()[i];
      all = tensor.profiles.empty() || fits(tensor.profiles[static_cast<std::size_t>(profile)], inputs[i].shape);
    }
    if (all) return profile;
  }
  std::string shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes.append(i == 0 ? "'" : ", '")
        .append(engine_->inputs()[i].name)
        .append("' ")
        .append(shapeText(inputs[i].shape));
  }
  throw Error("ERR_TRT_SHAPE", "No optimization profile of the engine takes " + shapes + " together");
}

void Lane::setShapes(const std::vector<InputTensor>& inputs) {
  const int32_t profile = engine_->profiles() == 0 ? 0 : profileFor(inputs);
  if (profile != profile_) {
    check(context_->setOptimizationProfile(profile, stream_.get()), "setOptimizationProfileAsync");
    profile_ = profile;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    if (!context_->setInputShape(tensor.name.c_str(), tensorrt::Dims(inputs[i].shape))) {
      throw Error("ERR_TRT_SHAPE",
                  "TensorRT refused the shape " + shapeText(inputs[i].shape) + " of input '" + tensor.name + "'");
    }
  }
}

void Lane::copyIn(const std::vector<InputTensor>& inputs) {
  const cuda::Driver& driver = engine_->device().driver();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    Buffers& buffers = *inputs_[i];
    const std::vector<uint8_t>& bytes = inputs[i].bytes;
    buffers.pinned.reserve(bytes.size());
    if (!bytes.empty()) std::memcpy(buffers.pinned.get(), bytes.data(), bytes.size());
    void* address = buffers.pinned.get();
    if (!tensor.onHost) {
      buffers.device.reserve(bytes.size());
      address = buffers.device.address();
      if (!bytes.empty()) {
        driver.check(driver.memcpyHtoDAsync(buffers.device.get(), buffers.pinned.get(), bytes.size(), stream_.get()),
                     "cuMemcpyHtoDAsync");
      }
    }
    check(context_->setTensorAddress(tensor.name.c_str(), address), "setTensorAddress of '" + tensor.name + "'");
  }
}

std::vector<OutputTensor> Lane::bindOutputs() {
  check(context_->inferShapes() == 0, "inferShapes");
  std::vector<OutputTensor> outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const IoTensor& tensor = engine_->outputs()[i];
    OutputTensor output{context_->shape(tensor.name.c_str()).vector(), nullptr, 0};
    if (std::ranges::any_of(output.shape, [](int64_t dim) { return dim < 0; })) {
      throw Error("ERR_TRT_UNSUPPORTED", "Output '" + tensor.name + "' " + shapeText(output.shape) +
                                             " has a size that depends on the data, which is not supported yet");
    }
    output.size = tensorrt::byteSize(tensor.dtype, output.shape);
    output.bytes.reset(new uint8_t[output.size]);
    Buffers& buffers = *outputs_[i];
    buffers.pinned.reserve(output.size);
    if (!tensor.onHost) buffers.device.reserve(output.size);
    void* address = tensor.onHost ? buffers.pinned.get() : buffers.device.address();
    check(context_->setTensorAddress(tensor.name.c_str(), address), "setTensorAddress of '" + tensor.name + "'");
    outputs.push_back(std::move(output));
  }
  return outputs;
}

void Lane::copyOut(const std::vector<OutputTensor>& outputs) {
  const cuda::Driver& driver = engine_->device().driver();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Buffers& buffers = *outputs_[i];
    if (engine_->outputs()[i].onHost || outputs[i].size == 0) continue;
    driver.check(driver.memcpyDtoHAsync(buffers.pinned.get(), buffers.device.get(), outputs[i].size, stream_.get()),
                 "cuMemcpyDtoHAsync");
  }
  stream_.synchronize();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].size > 0) std::memcpy(outputs[i].bytes.get(), outputs_[i]->pinned.get(), outputs[i].size);
  }
}

void Lane::check(bool ok, const std::string& what) const {
  if (!ok) throw Error("ERR_TRT_EXECUTION", engine_->library().name() + ": " + what + " failed");
}

}  // namespace nt::execution
