#include "profiles.h"

#include <algorithm>

#include "../base/text.h"

namespace nt::building {
namespace {

using Shape = std::vector<int64_t>;

struct Input {
  std::string name;
  Shape shape;

  bool dynamic() const {
    return std::ranges::any_of(shape, [](int64_t dim) { return dim < 0; });
  }
};

std::vector<Input> inputsOf(const tensorrt::NetworkDefinition& network) {
  std::vector<Input> inputs;
  for (int32_t i = 0; i < network.inputs(); ++i) {
    const tensorrt::Tensor tensor = network.input(i);
    Input input{tensor.name(), tensor.dimensions().vector()};
    if (tensor.isShapeTensor() && input.dynamic()) {
      throw Error("ERR_TRT_UNSUPPORTED",
                  "Input '" + input.name + "' is a shape tensor of unknown length, which is not supported yet");
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::string inputNames(const std::vector<Input>& inputs) {
  std::vector<std::string> names;
  for (const Input& input : inputs) names.push_back("'" + input.name + "' " + shapeText(input.shape));
  return join(names);
}

void checkRange(const Input& input, const ShapeRange& range) {
  const std::string name = "input '" + input.name + "' " + shapeText(input.shape);
  const auto fail = [&](const std::string& what) {
    throw Error("ERR_TRT_SHAPE", what + " for " + name + ": min " + shapeText(range.min) + ", opt " +
                                     shapeText(range.opt) + ", max " + shapeText(range.max));
  };
  for (const Shape* shape : {&range.min, &range.opt, &range.max}) {
    if (shape->size() != input.shape.size())
      fail("Expected shapes of " + std::to_string(input.shape.size()) + " dimensions");
  }
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const std::string dim = "dimension " + std::to_string(i);
    if (range.min[i] > range.opt[i] || range.opt[i] > range.max[i]) fail("Expected min ≤ opt ≤ max in " + dim);
    if (input.shape[i] >= 0 && (range.min[i] != input.shape[i] || range.max[i] != input.shape[i])) {
      fail("Expected " + std::to_string(input.shape[i]) + ", which the model fixes, in " + dim);
    }
  }
}

const ShapeRange* find(const ProfileShapes& profile, const std::string& name) {
  const auto found = std::ranges::find_if(profile, [&](const auto& entry) { return entry.first == name; });
  return found == profile.end() ? nullptr : &found->second;
}

void checkProfile(const std::vector<Input>& inputs, const ProfileShapes& profile) {
  for (const auto& [name, range] : profile) {
    const auto input = std::ranges::find_if(inputs, [&](const Input& candidate) { return candidate.name == name; });
    if (input == inputs.end()) {
      throw Error("ERR_TRT_UNKNOWN_INPUT",
                  "The model has no input '" + name + "' to give shapes for; it has " + inputNames(inputs));
    }
    checkRange(*input, range);
  }
  for (const Input& input : inputs) {
    if (input.dynamic() && find(profile, input.name) == nullptr) {
      throw Error("ERR_TRT_SHAPES_REQUIRED", "Input '" + input.name + "' " + shapeText(input.shape) +
                                                 " is dynamic: give its min, opt and max shapes");
    }
  }
}

void addProfile(tensorrt::Builder& builder, tensorrt::BuilderConfig& config, const std::vector<Input>& inputs,
                const ProfileShapes& shapes) {
  using tensorrt::Dims;
  using tensorrt::Enumerator;
  tensorrt::OptimizationProfile profile = builder.createOptimizationProfile();
  for (const Input& input : inputs) {
    const ShapeRange* range = find(shapes, input.name);
    if (range == nullptr || !input.dynamic()) continue;
    const bool set = profile.setDimensions(input.name, Enumerator::OptProfileSelector_kMIN, Dims(range->min)) &&
                     profile.setDimensions(input.name, Enumerator::OptProfileSelector_kOPT, Dims(range->opt)) &&
                     profile.setDimensions(input.name, Enumerator::OptProfileSelector_kMAX, Dims(range->max));
    if (!set) throw Error("ERR_TRT_SHAPE", "TensorRT refused the shapes of input '" + input.name + "'");
  }
  if (!profile.isValid() || config.addOptimizationProfile(profile) < 0) {
    throw Error("ERR_TRT_SHAPE", "TensorRT refused an optimization profile");
  }
}

}  // namespace

void addProfiles(tensorrt::Builder& builder, tensorrt::BuilderConfig& config,
                 const tensorrt::NetworkDefinition& network, const std::vector<ProfileShapes>& profiles) {
  const std::vector<Input> inputs = inputsOf(network);
  if (profiles.empty()) checkProfile(inputs, {});
  for (const ProfileShapes& profile : profiles) checkProfile(inputs, profile);
  if (!std::ranges::any_of(inputs, &Input::dynamic)) return;  // a static model has no profile of its own
  for (const ProfileShapes& profile : profiles) addProfile(builder, config, inputs, profile);
}

}  // namespace nt::building
