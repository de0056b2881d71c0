#include "layers.h"

#include <algorithm>

#include "../base/text.h"

namespace nt::building {
namespace {

using tensorrt::Layer;
using tensorrt::Method;
using tensorrt::NetworkDefinition;

bool matches(const std::string& pattern, const std::string& name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string::npos) return pattern == name;
  const std::string head = pattern.substr(0, star);
  const std::string tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

// Layers that compute shapes and indices take no other type: a pattern passes over them, a name does not.
bool computesNumbers(const Layer& layer) {
  for (int32_t i = 0; i < layer.outputs(); ++i) {
    const auto output = layer.output(i);
    const auto type = output ? output->dtype() : std::nullopt;
    if (type == DType::int32 || type == DType::int64 || type == DType::boolean) return false;
  }
  return true;
}

// The last entry that matches the layer; each that does is marked as used.
const LayerTypes* entryFor(const Layer& layer, const std::vector<LayerTypes>& entries, std::vector<bool>& used) {
  const LayerTypes* last = nullptr;
  const std::string name = layer.name();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!matches(entries[i].name, name)) continue;
    if (entries[i].name.find('*') != std::string::npos && !computesNumbers(layer)) continue;
    used[i] = true;
    last = &entries[i];
  }
  return last;
}

[[noreturn]] void refuseType(const char* option, const Layer& layer, const std::string& type) {
  throw Error("ERR_TRT_UNSUPPORTED", "Option " + std::string(option) + ": " + layer.library().name() +
                                         " does not take " + type + " for layer '" + layer.name() + "'");
}

LayerTypes setPrecision(Layer& layer, const LayerTypes& entry) {
  const int32_t type = layer.library().requireType(entry.types.front());
  layer.setPrecision(type);
  if (layer.precision() != type) refuseType("layerPrecisions", layer, entry.types.front());
  return {layer.name(), entry.types};
}

LayerTypes setOutputTypes(Layer& layer, const LayerTypes& entry) {
  const int32_t outputs = layer.outputs();
  if (entry.types.size() != 1 && static_cast<int32_t>(entry.types.size()) != outputs) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Option layerOutputTypes: layer '" + layer.name() + "' has " +
                                                std::to_string(outputs) + " outputs, and " +
                                                std::to_string(entry.types.size()) +
                                                " types were given: give one, or one for each");
  }
  LayerTypes reported{layer.name(), {}};
  for (int32_t i = 0; i < outputs; ++i) {
    const std::string& name = entry.types[entry.types.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    const int32_t type = layer.library().requireType(name);
    layer.setOutputType(i, type);
    if (layer.outputType(i) != type) refuseType("layerOutputTypes", layer, name);
    reported.types.push_back(name);
  }
  return reported;
}

using Set = LayerTypes (*)(Layer&, const LayerTypes&);

std::vector<LayerTypes> applyToLayers(const NetworkDefinition& network, const std::vector<LayerTypes>& entries,
                                      const char* option, Method needed, Set set) {
  std::vector<LayerTypes> reported;
  if (entries.empty()) return reported;
  try {
    network.library().require(needed);
  } catch (const Error& error) {
    throw Error(error.code(), "Option " + std::string(option) + ": " + error.what(), {{"option", option}});
  }
  std::vector<bool> used(entries.size());
  for (int32_t i = 0; i < network.layers(); ++i) {
    Layer layer = network.layer(i);
    if (const LayerTypes* entry = entryFor(layer, entries, used)) reported.push_back(set(layer, *entry));
  }
  if (const auto unused = std::ranges::find(used, false); unused != used.end()) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Option " + std::string(option) + ": no layer of the model is named '" +
                                                entries[static_cast<std::size_t>(unused - used.begin())].name + "'");
  }
  return reported;
}

}  // namespace

void applyLayerTypes(const NetworkDefinition& network, const Options& options, Options& settings) {
  settings.layerPrecisions =
      applyToLayers(network, options.layerPrecisions, "layerPrecisions", Method::VLayer_setPrecision, setPrecision);
  settings.layerOutputTypes = applyToLayers(network, options.layerOutputTypes, "layerOutputTypes",
                                            Method::VLayer_setOutputType, setOutputTypes);
}

}  // namespace nt::building
