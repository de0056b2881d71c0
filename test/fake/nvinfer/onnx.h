// As much of ONNX's protobuf as the fake parser needs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "program.h"

namespace fake {

struct OnnxTensor {
  std::string name;
  int type = 0;  // ONNX's numbers
  Shape shape;
  std::string raw;
  std::vector<double> numbers;
  bool external = false;
};
struct OnnxAttribute {
  std::int64_t i = 0;
  float f = 0;
  std::string s;
  Shape ints;
  OnnxTensor tensor;
};
struct OnnxNode {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;
};
struct OnnxPort {
  std::string name;
  int type = 0;
  Shape shape;                       // -1 where it is named or unknown
  std::map<int, std::string> names;  // of those that are named
};
struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxPort> inputs, outputs;
  std::string name;
};

bool readOnnx(const void* data, std::size_t size, OnnxModel* out);
bool typeFromOnnx(int onnx, Type* type);
bool valueFromOnnx(const OnnxTensor& tensor, Value* out);

}  // namespace fake
