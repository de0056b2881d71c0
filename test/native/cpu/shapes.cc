// What a model says of its outputs, and does not keep; and outputs that are an input, or a constant.
#include <thread>

#include "rig.h"

using namespace rig;
using onnx::Dim;
using onnx::DType;
using onnx::Graph;

namespace {

using Floats = std::vector<float>;
constexpr DType kElement = DType::float32;

// A vector → itself twice; the output is declared as is said.
std::string twice(const onnx::Dims& declared) {
  return Graph()
      .input("x", kElement, std::vector<Dim>{"N"})
      .node("Concat", {"x", "x"}, {"y"}, {onnx::integer("axis", 0)})
      .output("y", kElement, declared)
      .model();
}

// Holds results while others are made, and looks at them at the end.
void checkHeld(const std::string& what, const Graph& graph, int64_t count) {
  std::vector<Completion> held;
  {
    Rig rig(graph.model());
    for (int i = 0; i < 6; ++i) held.push_back(rig.infer({input({count}, numbers(1, count, i))}));
    for (int i = 0; i < 6; ++i) held.push_back(rig.run({input({count}, numbers(1, count, i + 6))}));
    for (int i = 0; i < 6; ++i) held.push_back(rig.infer({leased(rig.pool(), {count}, numbers(1, count, i + 12))}));
    for (int i = 0; i < 20; ++i) rig.infer({input({count}, Floats(static_cast<std::size_t>(count), -1))});
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    CHECK_EQ(codeOf(held[i].failure), "");
    if (held[i].failure) continue;
    const bool kept = values<float>(held[i].outputs[0]) == numbers(1, count, static_cast<int>(i));
    test::note(kept, __FILE__, __LINE__, what + " of " + std::to_string(count) + ", " + std::to_string(i));
  }
}

}  // namespace

TEST("shapes: an output that comes in another size than declared is right all the same, and memory is not lent again") {
  for (const int64_t count : {3, 2000}) {
    const auto engine = load(twice(std::vector<Dim>{"N"}));
    Rig rig(engine, {});
    CHECK(engine->expectedShape(0, {{count}}) == Shape{count});
    for (int i = 0; i < 3; ++i) {
      const Floats x = numbers(1, count, i);
      const Completion done = rig.infer({input({count}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      Floats wanted = x;
      wanted.insert(wanted.end(), x.begin(), x.end());
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{2 * count}));
      CHECK(values<float>(done.outputs[0]) == wanted);
      CHECK(!engine->expectedShape(0, {{count}}));
    }
    // targets of the declared size, and of the true one
    const Landing declared(rig.pool(), static_cast<std::size_t>(count) * 4);
    const Landing right(rig.pool(), static_cast<std::size_t>(count) * 8);
    CHECK_EQ(codeOf(rig.infer({input({count}, numbers(1, count, 1))}, aim({declared.target})).failure),
             "ERR_TRT_SHAPE");
    CHECK_EQ(codeOf(rig.infer({input({count}, numbers(1, count, 1))}, aim({right.target})).failure), "");
  }
  // the first time into a target
  Rig rig(twice(std::vector<Dim>{"N"}));
  const Landing declared(rig.pool(), 12);
  CHECK_EQ(codeOf(rig.infer({input({3}, numbers(1, 3, 1))}, aim({declared.target})).failure), "ERR_TRT_SHAPE");
}

TEST("shapes: a merged batch whose output is not of the rows that were declared fails, and others go on") {
  {
    Rig rig(twice(std::vector<Dim>{"N"}), merging(4));
    CHECK_EQ(codeOf(rig.infer({input({2}, numbers(1, 2, 1))}).failure), "ERR_TRT_EXECUTION");
    CHECK_CODE("ERR_TRT_EXECUTION", rig.run({input({2}, numbers(1, 2, 1))}));
    Rig turned(models::transposed(), merging(4));
    for (int i = 0; i < 2; ++i)
      CHECK_EQ(codeOf(turned.infer({input({2, 3}, numbers(2, 3, 1))}).failure), "ERR_TRT_EXECUTION");
    // where it happens to be right
    CHECK_EQ(codeOf(turned.infer({input({2, 2}, numbers(2, 2, 1))}).failure), "");
    CHECK_EQ(turned.session->stats()[nt::execution::Count::failed], 2u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("shapes: of an output without a shape, or with dimensions that nothing is said of") {
  {
    for (const onnx::Dims& declared : {onnx::Dims{}, onnx::Dims{std::vector<Dim>{""}}, onnx::Dims{{"other"}}}) {
      Rig rig(twice(declared));
      const Completion done = rig.infer({input({2}, Floats{1, 2})});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), Shape{4});
      CHECK_EQ(values<float>(done.outputs[0]), (Floats{1, 2, 1, 2}));
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("shapes: an output that is an input, or nothing but one, has memory of its own") {
  const onnx::Dims named = std::vector<Dim>{"N"}, unnamed = std::vector<Dim>{""};
  const auto vector = [] { return Graph().input("x", kElement, std::vector<Dim>{"N"}); };
  for (const onnx::Dims& declared : {named, unnamed}) {
    for (const int64_t count : {4, 40, 5000}) {
      checkHeld("Identity", vector().node("Identity", {"x"}, {"y"}).output("y", kElement, declared), count);
      checkHeld("the input", vector().output("x", kElement, declared), count);
      checkHeld("Reshape",
                vector()
                    .constant<int64_t>("shape", DType::int64, {1}, {-1})
                    .node("Reshape", {"x", "shape"}, {"y"})
                    .output("y", kElement, declared),
                count);
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("shapes: an output that is a constant") {
  std::vector<Completion> held;
  {
    // its shape is that of x by its names, and by its number of elements, and still another
    Rig rig(Graph()
                .input("x", kElement, std::vector<Dim>{"A", "B"})
                .constant<float>("y", kElement, {2, 3}, {1, 2, 3, 4, 5, 6})
                .node("Identity", {"x"}, {"z"})
                .output("y", kElement, std::vector<Dim>{"A", "B"})
                .output("z", kElement, std::vector<Dim>{"A", "B"})
                .model());
    for (const Shape& shape : {Shape{2, 3}, Shape{3, 2}, Shape{1, 1}, Shape{6, 1}})
      held.push_back(rig.infer({input(shape, Floats(static_cast<std::size_t>(shape[0] * shape[1])))}));
  }
  for (const Completion& done : held) {
    CHECK_EQ(codeOf(done.failure), "");
    CHECK_EQ(done.outputs[0].shape.vector(), (Shape{2, 3}));
    CHECK_EQ(values<float>(done.outputs[0]), (Floats{1, 2, 3, 4, 5, 6}));
  }
  held.clear();
  CHECK_NOTHING_LIVE();
}

TEST("shapes: many outputs, small and large, of which some need more than the lane has for small ones") {
  {
    Graph graph;
    graph.input("x", kElement, std::vector<Dim>{"N"});
    for (int i = 0; i < 40; ++i) {
      graph.constant<float>("c" + std::to_string(i), kElement, {}, {static_cast<float>(i)})
          .node("Add", {"x", "c" + std::to_string(i)}, {"y" + std::to_string(i)})
          .output("y" + std::to_string(i), kElement, std::vector<Dim>{"N"});
    }
    Rig rig(graph.model());
    for (const int64_t count : {1, 32, 33, 2000}) {
      const Floats x = numbers(1, count, 1);
      const Completion done = rig.infer({input({count}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      for (std::size_t i = 0; i < 40; ++i) {
        Floats wanted = x;
        for (float& each : wanted) each += static_cast<float>(i);
        CHECK(values<float>(done.outputs[i]) == wanted);
      }
    }
  }
  CHECK_NOTHING_LIVE();
}
