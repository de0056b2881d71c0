#include "engine.h"

#include <algorithm>

#include "../base/error.h"
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

int64_t distance(const Shape& a, const Shape& b) {
  int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

}  // namespace

void Engine::checkMergeable(int64_t maxBatch) const {
  const auto refuse = [](const IoTensor& tensor, const std::string& why) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Batching needs " + why + ", but '" + tensor.name + "' is " +
                                                (tensor.onHost ? "a shape tensor, " : "") + dtypeName(tensor.dtype) +
                                                " " + shapeText(tensor.shape));
  };
  if (inputs_.empty()) throw Error("ERR_TRT_INVALID_ARGUMENT", "Batching needs an input, and the engine has none");
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const IoTensor& tensor : *tensors) {
      if (tensor.shape.empty() || tensor.shape[0] >= 0)
        refuse(tensor, "a dynamic dimension 0 in every input and output");
      if (tensor.onHost) refuse(tensor, "every input and output on the device");
      if (dtypeBits(tensor.dtype) < 8) refuse(tensor, "elements of whole bytes");
    }
  }
  if (profiles_ == 0) return;
  for (const IoTensor& tensor : inputs_) {
    if (tensor.profiles.empty()) continue;  // as profileFor()
    int64_t most = 0;
    for (const ShapeRange& range : tensor.profiles) most = std::max(most, range.max.front());
    if (most < maxBatch) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "maxBatch is " + std::to_string(maxBatch) +
                                                  ", but no optimization profile takes more than " +
                                                  std::to_string(most) + " rows of '" + tensor.name + "'");
    }
  }
}

int32_t Engine::profileFor(const Shapes& shapes) const {
  int32_t best = -1;
  int64_t least = 0;
  for (int32_t profile = 0; profile < profiles_; ++profile) {
    int64_t sum = 0;
    bool all = true;
    for (std::size_t i = 0; i < shapes.size() && all; ++i) {
      if (inputs_[i].profiles.empty()) continue;
      const ShapeRange& range = inputs_[i].profiles[static_cast<std::size_t>(profile)];
      all = fits(range, shapes[i]);
      if (all) sum += distance(range.opt, shapes[i]);
    }
    if (!all || (best >= 0 && sum >= least)) continue;
    best = profile;
    least = sum;
  }
  if (best >= 0 || profiles_ == 0) return std::max(best, 0);
  std::string text;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    text.append(i == 0 ? "'" : ", '").append(inputs_[i].name).append("' ").append(shapeText(shapes[i]));
  }
  throw Error("ERR_TRT_SHAPE", "No optimization profile of the engine takes " + text + " together");
}

Error wrongTarget(const IoTensor& tensor, const Target& target, const Output& output) {
  return {"ERR_TRT_SHAPE", "The tensor given for output '" + tensor.name + "' has " + std::to_string(target.size) +
                               " bytes, and the output " + shapeText(output.shape.vector()) + " has " +
                               std::to_string(output.size)};
}

}  // namespace nt::execution
