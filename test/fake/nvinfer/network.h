// The building half, shared by libnvinfer and the parser: a network is a program with tensors and layers to look at.
#pragma once
#include <cmath>
#include <deque>
#include <optional>

#include "common.h"
#include "program.h"

namespace fake {

Dims toDims(const Shape& shape);

struct Network;

struct Tensor final : apiv::VTensor {
  Network* network;
  std::string name;
  Shape shape;
  DataType type;
  bool input = false, output = false;
  TensorFormats formats = ~0u >> (32 - 13);  // all that there are
  std::map<int, std::string> dimensionNames;
  Tensor(Network* n, std::string called, Shape s, DataType t)
      : network(n), name(std::move(called)), shape(std::move(s)), type(t) {}
  void setName(char const* n) noexcept { name = n; }
  char const* getName() noexcept { return name.c_str(); }
  void setDimensions(Dims const& dims) noexcept { shape.assign(dims.d, dims.d + dims.nbDims); }
  Dims getDimensions() noexcept { return toDims(shape); }
  void setType(DataType t) noexcept;
  DataType getType() noexcept { return type; }
  bool isNetworkInput() noexcept { return input; }
  bool isNetworkOutput() noexcept { return output; }
  TensorLocation getLocation() noexcept { return TensorLocation::kDEVICE; }
  void setAllowedFormats(TensorFormats f) noexcept;
  TensorFormats getAllowedFormats() noexcept { return formats; }
  bool isShapeTensor() noexcept;
  bool isExecutionTensor() noexcept { return !isShapeTensor(); }
  void setDimensionName(int32_t index, char const* n) noexcept { dimensionNames[index] = n; }
  char const* getDimensionName(int32_t index) noexcept {
    const auto found = dimensionNames.find(index);
    return found == dimensionNames.end() ? nullptr : found->second.c_str();
  }
  std::optional<std::pair<float, float>> range;
  bool setDynamicRange(float min, float max) noexcept;
  bool dynamicRangeIsSet() noexcept { return range.has_value(); }
};

struct Layer final : apiv::VLayer {
  Network* network;
  std::size_t index;
  std::string name;
  LayerType kind;
  DataType precision = DataType::kFLOAT;
  std::map<int, DataType> outputTypes;
  bool precise = false;
  Layer(Network* n, std::size_t i, std::string called, LayerType k)
      : network(n), index(i), name(std::move(called)), kind(k) {}
  LayerType getType() noexcept;
  void setName(char const* n) noexcept { name = n; }
  char const* getName() noexcept { return name.c_str(); }
  int32_t getNbInputs() noexcept;
  ITensor* getInput(int32_t i) noexcept;
  int32_t getNbOutputs() noexcept { return 1; }
  ITensor* getOutput(int32_t i) noexcept;
  void setPrecision(DataType t) noexcept;
  DataType getPrecision() noexcept { return precision; }
  bool precisionIsSet() noexcept { return precise; }
  void setOutputType(int32_t i, DataType t) noexcept;
  DataType getOutputType(int32_t i) noexcept;
  char const* getMetadata() noexcept { return ""; }
};

struct Network final : apiv::VNetworkDefinition, Counted {
  IBuilder* builder;
  ILogger* logger;
  NetworkDefinitionCreationFlags flags;
  Program program;
  std::string name;
  std::deque<std::unique_ptr<Public<ITensor>>> tensors;
  struct PublicLayer : ILayer {
    ~PublicLayer() { delete mLayer; }
  };
  std::deque<std::unique_ptr<PublicLayer>> layers;
  std::vector<ITensor*> inputs, outputs;
  IErrorRecorder* recorder = nullptr;

  Network(IBuilder* b, ILogger* l, NetworkDefinitionCreationFlags f)
      : Counted(kNetworks), builder(b), logger(l), flags(f) {}
  Tensor* tensor(const std::string& wanted) {
    for (auto& each : tensors)
      if (implementation<ITensor, Tensor>(each.get())->name == wanted)
        return implementation<ITensor, Tensor>(each.get());
    return nullptr;
  }
  ITensor* find(const std::string& wanted) {
    for (auto& each : tensors)
      if (implementation<ITensor, Tensor>(each.get())->name == wanted) return each.get();
    return nullptr;
  }
  ITensor* addTensor(const std::string& called, Shape shape, DataType type) {
    tensors.push_back(std::make_unique<Public<ITensor>>(new Tensor(this, called, std::move(shape), type), "VTensor"));
    return tensors.back().get();
  }
  void addLayer(const std::string& called, LayerType kind = LayerType::kIDENTITY) {
    layers.push_back(std::make_unique<PublicLayer>());
    layers.back()->mLayer = new Layer(this, layers.size() - 1, called, kind);
    poseTable("VLayer", layers.back()->mLayer);
  }
  std::vector<std::string> refittable;
#if FAMILY == 10
  bool strong() const { return flags >> static_cast<int>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) & 1; }
#else
  bool strong() const { return true; }
#endif
  // What the real one says to setType, setPrecision and setOutputType then.
  bool refusesTypes(const char* method) {
    if (strong()) logError(logger, std::string(method) + " is not allowed in a strongly typed network");
    return strong();
  }

  int32_t getNbLayers() noexcept { return static_cast<int32_t>(layers.size()); }
  ILayer* getLayer(int32_t i) noexcept {
    return i >= 0 && i < getNbLayers() ? layers[static_cast<std::size_t>(i)].get() : nullptr;
  }
  int32_t getNbInputs() noexcept { return static_cast<int32_t>(inputs.size()); }
  ITensor* getInput(int32_t i) noexcept {
    return i >= 0 && i < getNbInputs() ? inputs[static_cast<std::size_t>(i)] : nullptr;
  }
  int32_t getNbOutputs() noexcept { return static_cast<int32_t>(outputs.size()); }
  ITensor* getOutput(int32_t i) noexcept {
    return i >= 0 && i < getNbOutputs() ? outputs[static_cast<std::size_t>(i)] : nullptr;
  }
  void setName(char const* n) noexcept { name = n; }
  char const* getName() noexcept { return name.c_str(); }
  bool hasImplicitBatchDimension() noexcept { return false; }
  IBuilder& getBuilder() noexcept { return *builder; }
  NetworkDefinitionCreationFlags getFlags() noexcept { return flags; }
  bool getFlag(NetworkDefinitionCreationFlag flag) noexcept { return flags >> static_cast<int>(flag) & 1; }
  void markOutput(ITensor& t) noexcept {
    outputs.push_back(&t);
    implementation<ITensor, Tensor>(&t)->output = true;
  }
  void unmarkOutput(ITensor& t) noexcept {
    std::erase(outputs, &t);
    implementation<ITensor, Tensor>(&t)->output = false;
  }
  bool markWeightsRefittable(char const* weights) noexcept {
    METHOD("VNetworkDefinition.markWeightsRefittable");
    if (fail_ || !program.constants.count(weights)) return false;
    refittable.push_back(weights);
    return true;
  }
  void setErrorRecorder(IErrorRecorder* r) noexcept { recorder = r; }
  IErrorRecorder* getErrorRecorder() noexcept { return recorder; }

  Layer& layer(std::size_t i) { return *static_cast<Layer*>(layers[i]->mLayer); }
  bool quantizes() {
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (layer(i).kind == LayerType::kQUANTIZE || layer(i).kind == LayerType::kDEQUANTIZE) return true;
    return false;
  }
  // Whether each tensor that a layer makes has a range for INT8.
  bool ranged() {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Tensor* output = tensor(program.ops[i].outputs[0]);
      if (output && !output->range) return false;
    }
    return !layers.empty();
  }
  // What the application set on tensors and layers, for tests to read.
  std::map<std::string, long long> told() {
    std::map<std::string, long long> all{{"networkFlags", flags}};
    for (auto* list : {&inputs, &outputs})
      for (auto* each : *list) {
        Tensor& t = *implementation<ITensor, Tensor>(each);
        all["formats." + t.name] = t.formats, all["type." + t.name] = static_cast<int>(t.type);
      }
    for (const auto& each : tensors) {
      const Tensor& t = *implementation<ITensor, Tensor>(each.get());
      if (t.range) all["rangeMin." + t.name] = std::lround(t.range->first);
      if (t.range) all["rangeMax." + t.name] = std::lround(t.range->second);
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layer(i).precise) all["precision." + layer(i).name] = static_cast<int>(layer(i).precision);
      for (const auto& [output, type] : layer(i).outputTypes)
        all["outputType." + layer(i).name + '.' + std::to_string(output)] = static_cast<int>(type);
    }
    for (const auto& name : refittable) all["refittable." + name] = 1;
    return all;
  }
};

inline bool Tensor::setDynamicRange(float min, float max) noexcept {
  METHOD("VTensor.setDynamicRange");
  if (fail_ || network->refusesTypes("ITensor::setDynamicRange")) return false;
  range.emplace(min, max);
  return true;
}
inline void Tensor::setType(DataType t) noexcept {
  METHOD("VTensor.setType");
  if (!fail_ && !network->refusesTypes("ITensor::setType")) type = t;
}
inline void Tensor::setAllowedFormats(TensorFormats f) noexcept {
  METHOD("VTensor.setAllowedFormats");
  for (int bit = 0; bit < 32; ++bit)
    if ((f >> bit & 1) && !knows("TensorFormat", bit)) return;
  if (!fail_) formats = f;
}
inline void Layer::setPrecision(DataType t) noexcept {
  METHOD("VLayer.setPrecision");
  if (!fail_ && !network->refusesTypes("ILayer::setPrecision")) precision = t, precise = true;
}
inline void Layer::setOutputType(int32_t i, DataType t) noexcept {
  METHOD("VLayer.setOutputType");
  if (!fail_ && i == 0 && !network->refusesTypes("ILayer::setOutputType")) outputTypes[i] = t;
}

// An input that only gives a reshape its shape.
inline bool Tensor::isShapeTensor() noexcept {
  bool used = false, only = true;
  for (const auto& op : network->program.ops)
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if (op.inputs[i] == name) used = true, only &= op.type == "reshape" && i == 1;
  return used && only;
}
inline int32_t Layer::getNbInputs() noexcept { return static_cast<int32_t>(network->program.ops[index].inputs.size()); }
inline ITensor* Layer::getInput(int32_t i) noexcept {
  return network->find(network->program.ops[index].inputs[static_cast<std::size_t>(i)]);
}
inline LayerType Layer::getType() noexcept {
  if (kind != LayerType::kIDENTITY) return kind;
  static const std::map<std::string, LayerType> types = {{"add", LayerType::kELEMENTWISE},
                                                         {"sub", LayerType::kELEMENTWISE},
                                                         {"mul", LayerType::kELEMENTWISE},
                                                         {"div", LayerType::kELEMENTWISE},
                                                         {"max", LayerType::kELEMENTWISE},
                                                         {"min", LayerType::kELEMENTWISE},
                                                         {"relu", LayerType::kACTIVATION},
                                                         {"sigmoid", LayerType::kACTIVATION},
                                                         {"tanh", LayerType::kACTIVATION},
                                                         {"neg", LayerType::kUNARY},
                                                         {"abs", LayerType::kUNARY},
                                                         {"sqrt", LayerType::kUNARY},
                                                         {"exp", LayerType::kUNARY},
                                                         {"sum", LayerType::kREDUCE},
                                                         {"mean", LayerType::kREDUCE},
                                                         {"reducemax", LayerType::kREDUCE},
                                                         {"matmul", LayerType::kMATRIX_MULTIPLY},
                                                         {"concat", LayerType::kCONCATENATION},
                                                         {"softmax", LayerType::kSOFTMAX},
                                                         {"shape", LayerType::kSHAPE},
                                                         {"nonzero", LayerType::kNON_ZERO},
                                                         {"reshape", LayerType::kSHUFFLE},
                                                         {"transpose", LayerType::kSHUFFLE},
                                                         {"argmax", LayerType::kTOPK},
                                                         {"cast", LayerType::kCAST}};
  const auto found = types.find(network->program.ops[index].type);
  return found == types.end() ? LayerType::kIDENTITY : found->second;
}
inline DataType Layer::getOutputType(int32_t i) noexcept {
  const auto found = outputTypes.find(i);
  return found == outputTypes.end() ? implementation<ITensor, Tensor>(getOutput(i))->type : found->second;
}
inline ITensor* Layer::getOutput(int32_t) noexcept { return network->find(network->program.ops[index].outputs[0]); }

}  // namespace fake
