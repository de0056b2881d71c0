// What a model says of itself, inputs that a request may leave out, sizes for free dimensions, libraries of operators.
#include "rig.h"

using namespace rig;
using onnx::Dim;
using onnx::DType;
using onnx::Graph;

namespace {

using Floats = std::vector<float>;

// y = x + w, where w is 10 unless a request gives it.
std::string added(const onnx::Dims& dims = std::vector<Dim>{1}) {
  return Graph()
      .input("x", DType::float32, std::vector<Dim>{"N"})
      .input("w", DType::float32, dims)
      .constant<float>("w", DType::float32, {1}, {10})
      .node("Add", {"x", "w"}, {"y"})
      .output("y", DType::float32, std::vector<Dim>{"N"})
      .model();
}

Part giving(const Floats& values, Shape shape, std::size_t index = 0) {
  auto owner = std::make_shared<Floats>(values);
  Part part;
  part.optionals.push_back({index,
                            std::move(shape),
                            owner,
                            {reinterpret_cast<const uint8_t*>(owner->data()), owner->size() * sizeof(float)}});
  return part;
}

}  // namespace

TEST("optional inputs: left out the model's value counts, given the request's") {
  {
    Rig rig(added());
    CHECK_EQ(rig.session->engine().inputs().size(), 1u);
    CHECK_EQ(rig.session->engine().optionals().size(), 1u);
    CHECK_EQ(rig.session->engine().optionals()[0].name, "w");
    const auto x = input<float>({2}, {1, 2});
    for (int round = 0; round < 3; ++round) {
      CHECK(values<float>(rig.infer({x}).outputs[0]) == (Floats{11, 12}));
      CHECK(values<float>(rig.infer({x}, giving({100}, {1})).outputs[0]) == (Floats{101, 102}));
      CHECK(values<float>(rig.run({x}, giving({-1}, {1})).outputs[0]) == (Floats{0, 1}));
    }
    CHECK_EQ(codeOf([&] { rig.infer({x}, giving({1, 2}, {2})); }), "ERR_TRT_SHAPE");
    CHECK_EQ(codeOf([&] { rig.infer({x}, giving({1, 2}, {1})); }), "ERR_TRT_SHAPE");
    CHECK_EQ(codeOf([&] { rig.run({x}, giving({1}, {1, 1})); }), "ERR_TRT_SHAPE");
    CHECK_EQ(rig.session->memory().queued, 0u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("optional inputs: requests that merge cannot have one") {
  SessionOptions options;
  options.batching.maxBatch = 4;
  options.lane.merging = true;
  Rig rig(added(), options);
  const auto x = input<float>({2}, {1, 2});
  CHECK(values<float>(rig.infer({x}).outputs[0]) == (Floats{11, 12}));
  CHECK_EQ(codeOf([&] { rig.infer({x}, giving({100}, {1})); }), "ERR_TRT_UNSUPPORTED");
}

TEST("optional inputs: what they take counts in the queue's limit of bytes") {
  SessionOptions options;
  options.maxQueueBytes = 64;
  Rig rig(added(std::vector<Dim>{"M"}), options);
  const auto x = input<float>({1}, {1});
  CHECK_EQ(codeOf([&] { rig.infer({x}, giving(Floats(64), {64})); }), "ERR_TRT_QUEUE_FULL");
  CHECK_EQ(codeOf(rig.infer({x}, giving({2}, {1})).failure), "");
}

TEST("free dimensions: inputs have the sizes, and unknown names change nothing") {
  nt::cpu::Options options;
  options.freeDimensions = {{"N", 3}, {"nobody", 7}};
  const auto engine = load(models::scale(), options);
  CHECK_EQ(engine->inputs()[0].shape, (Shape{3, 3}));
  CHECK_EQ(engine->outputs()[0].shape[0], 3);
}

TEST("custom operators: a library that is none") {
  for (const char* path : {"/nowhere/ops.so", "/proc/self/status", "libc.so.6"}) {
    nt::cpu::Options options;
    options.customOps = {path};
    CHECK_EQ(codeOf([&] { load(models::identity(), options); }), "ERR_TRT_FILE");
  }
  CHECK_NOTHING_LIVE();
}
