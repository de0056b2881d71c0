#include "models.h"

namespace models {

using onnx::Dim;
using onnx::Dims;
using onnx::DType;
using onnx::Graph;

namespace {

Dims dims(std::vector<Dim> of) { return of; }
constexpr DType kFloat = DType::float32, kLong = DType::int64;

// One round: its number, whether to go on, and the value so far → whether to go on, value + 1.
Graph round() {
  return Graph()
      .input("i", kLong, dims({}))
      .input("more", DType::boolean, dims({}))
      .input("before", kFloat, dims({"", 1}))
      .constant<float>("one", kFloat, {}, {1})
      .node("Identity", {"more"}, {"again"})
      .node("Add", {"before", "one"}, {"after"})
      .output("again", DType::boolean, dims({}))
      .output("after", kFloat, dims({"", 1}));
}

}  // namespace

std::string identity(DType type, const Dims& shape) {
  return Graph().input("x", type, shape).node("Identity", {"x"}, {"y"}).output("y", type, shape).model(21);
}

std::string scale(int64_t columns) {
  return Graph()
      .input("x", kFloat, dims({"N", columns}))
      .constant<float>("two", kFloat, {}, {2})
      .constant<float>("one", kFloat, {}, {1})
      .node("Mul", {"x", "two"}, {"doubled"})
      .node("Add", {"doubled", "one"}, {"more"})
      .node("Relu", {"more"}, {"y"})
      .output("y", kFloat, dims({"N", columns}))
      .model();
}

std::string twoOutputs() {
  return Graph()
      .input("x", kFloat, dims({"N", 3}))
      .constant<float>("two", kFloat, {}, {2})
      .constant<int64_t>("axes", kLong, {1}, {1})
      .node("Mul", {"x", "two"}, {"y"})
      .node("ReduceSum", {"x", "axes"}, {"z"}, {onnx::integer("keepdims", 0)})
      .output("y", kFloat, dims({"N", 3}))
      .output("z", kFloat, dims({"N"}))
      .model();
}

std::string nonzero() {
  return Graph()
      .input("x", kFloat, dims({"N"}))
      .node("NonZero", {"x"}, {"y"})
      .output("y", kLong, dims({1, ""}))
      .model();
}

std::string sum() {
  return Graph()
      .input("a", kFloat, dims({"N", 2}))
      .input("b", kFloat, dims({"N", 2}))
      .node("Add", {"a", "b"}, {"y"})
      .output("y", kFloat, dims({"N", 2}))
      .model();
}

std::string expand() {
  return Graph()
      .input("x", kFloat, dims({"N"}))
      .input("s", kLong, dims({1}))
      .node("Expand", {"x", "s"}, {"y"})
      .output("y", kFloat, dims({""}))
      .model();
}

std::string transposed() {
  return Graph()
      .input("x", kFloat, dims({"N", "M"}))
      .node("Transpose", {"x"}, {"y"}, {onnx::integers("perm", {1, 0})})
      .output("y", kFloat, dims({"M", "N"}))
      .model();
}

std::string totals() {
  return Graph()
      .input("x", kFloat, dims({"N", 1}))
      .constant<int64_t>("axes", kLong, {1}, {0})
      .node("ReduceSum", {"x", "axes"}, {"total"})
      .node("Add", {"x", "total"}, {"y"})
      .output("y", kFloat, dims({"N", 1}))
      .model();
}

std::string gather() {
  return Graph()
      .input("x", kLong, dims({"N", 1}))
      .constant<float>("table", kFloat, {5, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41})
      .node("Gather", {"table", "x"}, {"y"})
      .output("y", kFloat, dims({"N", 1, 2}))
      .model();
}

std::string loop() {
  return Graph()
      .input("x", kFloat, dims({"N", 1}))
      .constant<uint8_t>("yes", DType::boolean, {}, {1})
      .node("ReduceMax", {"x"}, {"most"}, {onnx::integer("keepdims", 0)})
      .node("Cast", {"most"}, {"rounds"}, {onnx::integer("to", 7)})
      .node("Loop", {"rounds", "yes", "x"}, {"y"}, {onnx::body("body", round())})
      .output("y", kFloat, dims({"N", 1}))
      .model();
}

std::string pools() {
  return Graph()
      .input("x", kFloat, dims({1, 1, 768, 768}))
      .node("MaxPool", {"x"}, {"y"}, {onnx::integers("kernel_shape", {65, 65})})
      .output("y", kFloat, dims({1, 1, 704, 704}))
      .model();
}

}  // namespace models
