// What a parsed network is made of: found without a device, before TensorRT fuses or chooses anything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "../tensorrt/interfaces.h"

namespace nt::building {

struct TensorFacts {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<std::string> dimensionNames;  // one for each dimension; empty where it has none
};

struct NetworkAudit {
  using Counts = std::map<std::string, int32_t>;
  int32_t layers = 0;
  // By kind, "convolution"; by data type of the first output, "float16".
  Counts kinds;
  Counts types;
  // Layers that quantize and dequantize, by the quantized type.
  Counts quantize;
  Counts dequantize;
  // What the layers themselves hold; what several hold is counted once.
  std::size_t weightBytes = 0;
  std::vector<TensorFacts> inputs;
  std::vector<TensorFacts> outputs;
};

NetworkAudit audit(const tensorrt::NetworkDefinition& network);

}  // namespace nt::building
