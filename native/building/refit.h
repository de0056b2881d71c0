// A deserialized engine whose weights are replaced before anything runs on it. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../cuda/device.h"
#include "../tensorrt/refitter.h"

namespace nt::building {

struct WeightsFacts {
  std::string name;
  // nothing where TensorRT has no prototype: for weights without a name, and data types that are not known here
  std::optional<DType> dtype;
  std::optional<int64_t> count;
  // whether refit() needs them and they were not set
  bool missing = false;
};

// An ONNX model: its bytes, or the path of its file when there are none.
struct OnnxSource {
  std::vector<uint8_t> model;
  std::string path;
};

// Whether a plan came without its weights: as TensorRT says, or, where it does not (before 10.14), as was `noted` when
// the plan was built.
bool isStripped(const tensorrt::CudaEngine& engine, bool noted);

class RefittableEngine {
 public:
  // Nothing else may use the engine while this lives. Of a `stripped` one all weights are missing. Throws
  // ERR_TRT_WEIGHTS where it cannot be refitted.
  RefittableEngine(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine, bool stripped);
  RefittableEngine(const RefittableEngine&) = delete;
  RefittableEngine& operator=(const RefittableEngine&) = delete;
  // On any thread. On a lost device nothing is freed.
  ~RefittableEngine();

  const tensorrt::CudaEngine& engine() const noexcept { return *parts_->engine; }
  std::vector<WeightsFacts> weights() const;

  // Keeps `bytes`, of `count` elements, for refit(). Throws ERR_TRT_WEIGHTS, ERR_TRT_DTYPE, ERR_TRT_SHAPE.
  void set(const std::string& name, DType dtype, int64_t count, std::vector<uint8_t> bytes);
  // All weights, by their names in the model. Throws ERR_TRT_WEIGHTS, ERR_TRT_ONNX_PARSE, ERR_TRT_FILE.
  void set(const OnnxSource& source);
  // Writes what was set into the engine. Throws ERR_TRT_WEIGHTS, with the names of those that are missing.
  void refit();
  // The engine with its weights; `refittable`: it can be refitted again. Throws ERR_TRT_WEIGHTS, ERR_TRT_UNSUPPORTED.
  std::unique_ptr<tensorrt::HostMemory> serialize(bool refittable) const;

 private:
  // In the order in which they are made; destroyed the other way round.
  struct Parts {
    std::shared_ptr<tensorrt::CudaEngine> engine;
    std::shared_ptr<tensorrt::Refitter> refitter;
    // What refit() reads: the memory of tensors by name, and the parser's refitters, which own theirs.
    std::map<std::string, std::vector<uint8_t>> tensors;
    std::vector<std::unique_ptr<tensorrt::ParserRefitter>> models;
  };
  [[noreturn]] void fail(const char* what) const;
  std::set<std::string> missing() const;

  const cuda::DeviceContext& device_;
  // Of a stripped plan: what was not set yet, as TensorRT does not tell.
  std::set<std::string> unset_;
  std::shared_ptr<Parts> parts_ = std::make_shared<Parts>();
};

// Puts the weights of an ONNX model into an engine that nothing uses yet. Throws as RefittableEngine.
void refitFromOnnx(const cuda::DeviceContext& device, const std::shared_ptr<tensorrt::CudaEngine>& engine,
                   bool stripped, const OnnxSource& source);

// ERR_TRT_WEIGHTS for an engine that came without its weights and is to run: it would compute nothing.
[[noreturn]] void refuseStripped(const cuda::DeviceContext& device,
                                 const std::shared_ptr<tensorrt::CudaEngine>& engine);

}  // namespace nt::building
