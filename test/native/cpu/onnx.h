// ONNX models, written: as much of onnx.proto as the cases need.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../../../native/base/dtype.h"

namespace onnx {

using nt::DType;

// A dimension: a number, a name, or "" for one that nothing is said of.
struct Dim {
  int64_t size = -1;
  std::string name;
  Dim(int64_t size) : size(size) {}
  Dim(int size) : size(size) {}
  Dim(const char* name) : name(name) {}
};
// No dimensions: a scalar. Nothing: no shape is declared.
using Dims = std::optional<std::vector<Dim>>;

class Graph;

struct Attribute {
  std::string bytes;
};
Attribute integer(const std::string& name, int64_t value);
Attribute integers(const std::string& name, const std::vector<int64_t>& values);
Attribute body(const std::string& name, const Graph& graph);

class Graph {
 public:
  Graph& input(const std::string& name, DType type, const Dims& dims);
  Graph& output(const std::string& name, DType type, const Dims& dims);
  Graph& node(const std::string& type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
              const std::vector<Attribute>& attributes = {});
  template <class T>
  Graph& constant(const std::string& name, DType type, const std::vector<int64_t>& dims, const std::vector<T>& values) {
    std::string raw(values.size() * sizeof(T), '\0');
    if (!raw.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return initializer(name, type, dims, raw);
  }
  // A GraphProto.
  const std::string& bytes() const noexcept { return bytes_; }
  // A ModelProto.
  std::string model(int64_t opset = 18) const;

 private:
  Graph& initializer(const std::string& name, DType type, const std::vector<int64_t>& dims, const std::string& raw);
  std::string bytes_;
};

}  // namespace onnx
