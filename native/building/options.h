// What a build is to be like, and what it was like: the same words both ways, by the options' public names.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nt::building {

using Names = std::vector<std::string>;
using Value = std::variant<bool, int64_t, std::string, Names>;

// The type (empty: the model's) and the memory layouts of a network input or output.
struct TensorFormat {
  std::string name;
  std::string dtype;
  Names formats;
};

// The type that a layer computes in, or the types of its outputs; `name` may hold one '*'.
struct LayerTypes {
  std::string name;
  Names types;
};

struct Options {
  // Options that are one value each, checked by lib/building/options.ts.
  std::vector<std::pair<std::string, Value>> values;
  std::vector<TensorFormat> inputFormats;
  std::vector<TensorFormat> outputFormats;
  std::vector<LayerTypes> layerPrecisions;
  std::vector<LayerTypes> layerOutputTypes;

  // The value given for the option, or null.
  template <class T>
  const T* find(const std::string& name) const {
    for (const auto& [option, value] : values) {
      if (option == name) return &std::get<T>(value);
    }
    return nullptr;
  }
};

}  // namespace nt::building
