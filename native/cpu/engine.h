// An ONNX model on the CPU: a session of onnxruntime, which all lanes run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../execution/engine.h"
#include "../onnxruntime/library.h"
#include "../onnxruntime/owned.h"
#include "observer.h"

namespace nt::cpu {

using execution::IoTensor;
using execution::Shape;
using execution::Shapes;

struct Options {
  // of one inference
  int threads = 1;
  onnxruntime::OptimizationLevel optimization = onnxruntime::kOptimizeAll;
  bool deterministic = false;
  // session configuration entries
  std::vector<std::pair<std::string, std::string>> config;
  // sizes of dimensions, by the names or the denotations that the model gives them
  std::vector<std::pair<std::string, int64_t>> freeDimensions;
  // paths of libraries
  std::vector<std::string> customOps;
  // Its outputs of float32 are counted, and no request gets any.
  bool observe = false;
};

// Where a model is: a path, from whose folder its external data comes, or bytes that stay until it is loaded.
struct Model {
  std::string path;
  const void* data = nullptr;
  std::size_t size = 0;
};

// What of this room exists in the process: for tests.
struct Live {
  std::atomic<int64_t> engines{0}, lanes{0}, values{0};
};
Live& live() noexcept;

// A node of a model may take long, and so may loading one: onnxruntime must not be torn down under it.
inline constexpr std::chrono::seconds kPatienceAtExit{28};

class Engine : public execution::Engine, public std::enable_shared_from_this<Engine> {
 public:
  // Throws ERR_TRT_ONNX_PARSE, ERR_TRT_FILE, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_INVALID_ARGUMENT for a configuration entry,
  // ERR_TRT_FILE for a library of custom operators, and where there is nothing to observe.
  static std::shared_ptr<Engine> load(const onnxruntime::Library& library, const Model& model, const Options& options);
  ~Engine() override { --live().engines; }

  std::string runtime() const override { return library_.name(); }
  int deviceIndex() const noexcept override { return -1; }
  HostPool& pool() const noexcept override { return HostPool::ordinary(); }
  TensorMemory& tensors() const noexcept override { return TensorMemory::ordinary(); }
  void enter() const override {}
  std::unique_ptr<execution::Visit> visit() const override { return nullptr; }
  void throwIfLost() const override {}
  std::unique_ptr<execution::Lane> createLane(const execution::LaneOptions& options) const override;
  std::size_t deviceBytes() const noexcept override { return 0; }
  execution::BenchmarkResult benchmark(const execution::BenchmarkOptions& options,
                                       execution::BenchmarkWatch& watch) const override;
  std::chrono::seconds patienceAtExit() const noexcept override { return kPatienceAtExit; }

  // The shapes that are allowed, for each input one entry per profile, or none where all are: before there is any lane.
  // Throws ERR_TRT_INVALID_ARGUMENT.
  void setProfiles(std::vector<std::vector<ShapeRange>> profiles);

  const onnxruntime::Library& library() const noexcept { return library_; }
  onnxruntime::OrtSession* session() const noexcept { return session_.get(); }
  // Throws ERR_TRT_SHAPE where the shapes are in no profile, or contradict a static dimension.
  void checkShapes(const Shapes& shapes) const;
  // An output's shape where that follows from its declaration and from the inputs'; nothing where it depends on the
  // data, or where memory of ours is not for it. A model may lie: see distrust().
  std::optional<Shape> expectedShape(std::size_t output, const Shapes& inputs) const;
  // What counts the outputs of one that is observed, and null of any other. All of its inferences compute all that is
  // counted; as far as requests know it has no outputs.
  const std::shared_ptr<Observer>& observer() const noexcept { return observer_; }
  // Outputs came in other shapes than declared: from now on none is expected.
  void distrust() const noexcept { trusted_ = false; }

 private:
  explicit Engine(const onnxruntime::Library& library) : library_(library), session_(library) { ++live().engines; }
  void open(const Model& model, const Options& options);
  void describe();
  void readMetadata();
  void observeOutputs();
  void resolveOutputs();

  // A dimension of an output: a number, or that of an input, or neither.
  struct Dimension {
    int64_t size = -1;
    std::size_t input = 0, axis = 0;
    bool known = false;
  };

  // Hands what the allocator keeps of the weights back to the system, once the session is gone, and as soon as that is
  // worth while: meanwhile nobody in the process allocates.
  struct GiveBack {
    std::size_t bytes = 0;  // that the process had more once the session was made
    ~GiveBack();
  };

  const onnxruntime::Library& library_;
  GiveBack giveBack_;
  onnxruntime::OwnedSession session_;
  std::shared_ptr<Observer> observer_;
  std::vector<std::vector<Dimension>> outputDimensions_;
  mutable std::atomic<bool> trusted_{true};
};

}  // namespace nt::cpu
