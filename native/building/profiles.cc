#include "profiles.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "../base/text.h"

namespace nt::building {
namespace {

using Shape = std::vector<int64_t>;

struct Input {
  std::string name;
  Shape shape;
  // its values decide shapes: a profile gives the range of the values
  bool shapeTensor = false;
  DType type = DType::float32;

  bool needsProfile() const { return shapeTensor || isDynamic(shape); }
  std::size_t values() const {
    return static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>()));
  }
  std::string text() const { return "'" + name + "' " + shapeText(shape) + (shapeTensor ? " (a shape tensor)" : ""); }
};

void checkShapeTensor(const Input& input) {
  const auto refuse = [&](const std::string& what) {
    throw Error("ERR_TRT_UNSUPPORTED", "Input " + input.text() + " " + what);
  };
  if (isDynamic(input.shape)) refuse("has no fixed number of values, which TensorRT needs of a shape tensor");
  if (input.type != DType::int32 && input.type != DType::int64) {
    refuse("is of " + std::string(dtypeName(input.type)) + ": profiles give int32 and int64 values only");
  }
}

std::vector<Input> inputsOf(const tensorrt::NetworkDefinition& network) {
  std::vector<Input> inputs;
  for (int32_t i = 0; i < network.inputs(); ++i) {
    const tensorrt::Tensor tensor = network.input(i);
    Input input{tensor.name(), tensor.dimensions().vector(), tensor.isShapeTensor()};
    input.type = tensor.dtype().value_or(input.type);
    if (input.shapeTensor) checkShapeTensor(input);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::string inputNames(const std::vector<Input>& inputs) {
  std::vector<std::string> names;
  for (const Input& input : inputs) names.push_back(input.text());
  return join(names);
}

[[noreturn]] void throwBadRange(const std::string& what, const Input& input, const ShapeRange& range) {
  throw Error("ERR_TRT_SHAPE", what + " for input " + input.text() + ": min " + shapeText(range.min) + ", opt " +
                                   shapeText(range.opt) + ", max " + shapeText(range.max));
}

void checkOrder(const Input& input, const ShapeRange& range, const char* element) {
  for (std::size_t i = 0; i < range.opt.size(); ++i) {
    if (range.min[i] > range.opt[i] || range.opt[i] > range.max[i]) {
      throwBadRange("Expected min ≤ opt ≤ max in " + std::string(element) + " " + std::to_string(i), input, range);
    }
  }
}

void checkValues(const Input& input, const ShapeRange& range) {
  for (const Shape* values : {&range.min, &range.opt, &range.max}) {
    if (values->size() != input.values())
      throwBadRange("Expected " + std::to_string(input.values()) + " values", input, range);
    for (const int64_t value : *values) {
      if (input.type == DType::int32 && (value < INT32_MIN || value > INT32_MAX)) {
        throwBadRange("Expected values of 32 bits", input, range);
      }
    }
  }
  checkOrder(input, range, "value");
}

void checkRange(const Input& input, const ShapeRange& range) {
  if (input.shapeTensor) return checkValues(input, range);
  for (const Shape* shape : {&range.min, &range.opt, &range.max}) {
    if (shape->size() != input.shape.size())
      throwBadRange("Expected shapes of " + std::to_string(input.shape.size()) + " dimensions", input, range);
    if (isDynamic(*shape)) throwBadRange("Expected no negative dimension", input, range);
  }
  checkOrder(input, range, "dimension");
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    if (input.shape[i] >= 0 && (range.min[i] != input.shape[i] || range.max[i] != input.shape[i])) {
      throwBadRange(
          "Expected " + std::to_string(input.shape[i]) + ", which the model fixes, in dimension " + std::to_string(i),
          input, range);
    }
  }
}

const ShapeRange* rangeOf(const ProfileShapes& profile, const std::string& name) {
  const auto found = std::ranges::find_if(profile, [&](const auto& entry) { return entry.name == name; });
  return found == profile.end() ? nullptr : &found->range;
}

// One name a line, for who makes up ranges: which inputs they are, the parser alone knows. Nothing without any.
Error::Details shapeTensors(const std::vector<Input>& inputs) {
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    if (input.shapeTensor) names.push_back(input.name);
  }
  if (names.empty()) return {};
  return {{"shapeTensors", join(names, "\n")}};
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
    if (!input.needsProfile() || rangeOf(profile, input.name) != nullptr) continue;
    throw Error("ERR_TRT_SHAPES_REQUIRED",
                "Input '" + input.name + "' " + shapeText(input.shape) +
                    (input.shapeTensor ? " is a shape tensor: give its min, opt and max values"
                                       : " is dynamic: give its min, opt and max shapes"),
                shapeTensors(inputs));
  }
}

bool setShapeRange(tensorrt::OptimizationProfile& profile, const Input& input, const ShapeRange& range) {
  using tensorrt::Enumerator;
  const std::pair<Enumerator, const Shape*> parts[] = {{Enumerator::OptProfileSelector_kMIN, &range.min},
                                                       {Enumerator::OptProfileSelector_kOPT, &range.opt},
                                                       {Enumerator::OptProfileSelector_kMAX, &range.max}};
  return std::ranges::all_of(parts, [&](const auto& part) {
    return input.shapeTensor ? profile.setValues(input.name, part.first, *part.second)
                             : profile.setDimensions(input.name, part.first, tensorrt::Dims(*part.second));
  });
}

void addProfile(tensorrt::Builder& builder, tensorrt::BuilderConfig& config, const std::vector<Input>& inputs,
                const ProfileShapes& shapes) {
  tensorrt::OptimizationProfile profile = builder.createOptimizationProfile();
  for (const Input& input : inputs) {
    const ShapeRange* range = rangeOf(shapes, input.name);
    if (range == nullptr || !input.needsProfile()) continue;
    if (!setShapeRange(profile, input, *range)) {
      throw Error("ERR_TRT_SHAPE", "TensorRT refused the " + std::string(input.shapeTensor ? "values" : "shapes") +
                                       " of input '" + input.name + "'");
    }
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
  if (!std::ranges::any_of(inputs, &Input::needsProfile)) return;  // a static model has no profile of its own
  for (const ProfileShapes& profile : profiles) addProfile(builder, config, inputs, profile);
}

}  // namespace nt::building
