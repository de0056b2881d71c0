#include "engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

// What a profile takes of an input; null where it says nothing of it.
const ShapeRange* rangeOf(const std::vector<ShapeRange>& ranges, std::size_t profile) {
  return profile < ranges.size() ? &ranges[profile] : nullptr;
}

const std::vector<int64_t>* valuesAt(const Values& values, std::size_t input) {
  return input < values.size() ? &values[input] : nullptr;
}

template <class T>
std::vector<int64_t> numbersAt(const uint8_t* data, std::size_t bytes) {
  std::vector<T> numbers(bytes / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), data, numbers.size() * sizeof(T));
  return {numbers.begin(), numbers.end()};
}

}  // namespace

void Engine::checkProfileNumber(int32_t profile) const {
  if (profile >= 0 && profile < std::max(profiles_, 1)) return;
  throw Error("ERR_TRT_INVALID_ARGUMENT", "The engine has " + std::to_string(std::max(profiles_, 1)) +
                                              " optimization profiles: there is no profile " + std::to_string(profile));
}

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
      if (dtypeBits(tensor.dtype) == 0) refuse(tensor, "elements of one size");
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

int32_t Engine::profileFor(const Shapes& shapes, const Values& values, int32_t fixed) const {
  if (fixed >= 0) {
    checkProfile(shapes, values, static_cast<std::size_t>(fixed));
    return fixed;
  }
  int32_t best = -1;
  int64_t least = 0;
  for (int32_t profile = 0; profile < profiles_; ++profile) {
    const std::optional<int64_t> far = distanceTo(shapes, values, static_cast<std::size_t>(profile));
    if (!far || (best >= 0 && *far >= least)) continue;
    best = profile;
    least = *far;
  }
  if (best >= 0 || profiles_ == 0) return std::max(best, 0);
  throw Error("ERR_TRT_SHAPE",
              "No optimization profile of the engine takes " + inputsText(shapes, values) + " together");
}

// How far shapes and values are from a profile's best; nothing where it does not take them.
std::optional<int64_t> Engine::distanceTo(const Shapes& shapes, const Values& values, std::size_t profile) const {
  int64_t sum = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& [given, range] : {std::pair(&shapes[i], rangeOf(inputs_[i].profiles, profile)),
                                       std::pair(valuesAt(values, i), rangeOf(inputs_[i].values, profile))}) {
      if (given == nullptr || range == nullptr) continue;
      if (!fits(*range, *given)) return std::nullopt;
      sum += distance(range->opt, *given);
    }
  }
  return sum;
}

void Engine::checkProfile(const Shapes& shapes, const Values& values, std::size_t profile) const {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto check = [&](const char* what, const std::vector<int64_t>* given, const ShapeRange* range) {
      if (given == nullptr || range == nullptr || fits(*range, *given)) return;
      throw Error("ERR_TRT_SHAPE", std::string("Expected ") + what + " from " + shapeText(range->min) + " to " +
                                       shapeText(range->max) + " for input '" + inputs_[i].name +
                                       "', which optimization profile " + std::to_string(profile) +
                                       " takes, but received " + shapeText(*given));
    };
    check("a shape", &shapes[i], rangeOf(inputs_[i].profiles, profile));
    check("values", valuesAt(values, i), rangeOf(inputs_[i].values, profile));
  }
}

// Requests with such inputs do not merge: the batch has one part.
Values Engine::valuesOf(const Batch& batch) const {
  Values values;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].values.empty()) continue;
    values.resize(inputs_.size());
    const uint8_t* data = batch.dataOf(batch.parts.front(), i);
    const std::size_t bytes = byteSize(inputs_[i].dtype, batch.shapes[i]);
    values[i] = inputs_[i].dtype == DType::int64 ? numbersAt<int64_t>(data, bytes) : numbersAt<int32_t>(data, bytes);
  }
  return values;
}

std::string Engine::inputsText(const Shapes& shapes, const Values& values) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int64_t>* given = valuesAt(values, i);
    const bool known = given != nullptr && !inputs_[i].values.empty();
    texts.push_back(quoted(inputs_[i].name) + " " + shapeText(shapes[i]) + (known ? " of " + join(*given) : ""));
  }
  return join(texts);
}

Error wrongTarget(const IoTensor& tensor, const Target& target, const Output& output) {
  return {"ERR_TRT_SHAPE", "The tensor given for output '" + tensor.name + "' has " + std::to_string(target.size) +
                               " bytes, and the output " + shapeText(output.shape.vector()) + " has " +
                               std::to_string(output.size)};
}

}  // namespace nt::execution
