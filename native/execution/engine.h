// A loaded model, whatever runs it: what it says of its inputs and outputs, and the lanes that it makes.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../base/dtype.h"
#include "../base/error.h"
#include "../base/host_pool.h"
#include "../base/tensor_memory.h"
#include "benchmark.h"
#include "lane.h"

namespace nt::execution {

// The values of the inputs that the CPU reads, by input; empty for the others, and altogether where there are none.
using Values = std::vector<std::vector<int64_t>>;

struct IoTensor {
  std::string name;
  DType dtype;
  // -1 where the size is known only at run time
  Shape shape;
  // read by the CPU, where the others are on a device: its address is host memory
  bool onHost = false;
  std::string format;
  // one entry per optimization profile; empty for outputs and static inputs
  std::vector<ShapeRange> profiles;
  // of dynamic dimensions, "" where there is none; empty where the runtime does not know names
  std::vector<std::string> dimensionNames;
  // of an input whose values the CPU reads: those that each optimization profile takes; empty where none are known
  std::vector<ShapeRange> values;
};

// An input or output that no tensor of ours can hold.
struct UnsupportedTensor {
  std::string name;
  bool input = false;
  std::string type;
};

// What the exporter left in a model, by its keys.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// A thread's time with an engine that it does not belong to: the thread is then as it was before.
class Visit {
 public:
  Visit() = default;
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  virtual ~Visit() = default;
};

// Shared by all lanes, of all sessions: weights are there once.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // On any thread.
  virtual ~Engine() = default;

  // What runs it, with its version.
  virtual std::string runtime() const = 0;
  // The number of the GPU; -1 on the CPU.
  virtual int deviceIndex() const noexcept = 0;
  // Where memory for requests and results comes from.
  virtual HostPool& pool() const noexcept = 0;
  // Where tensors stay that are not brought to the host.
  virtual TensorMemory& tensors() const noexcept = 0;
  // The thread of a lane calls it before anything else, and is the engine's from then on. Throws where nothing can run
  // any more.
  virtual void enter() const = 0;
  // Any other thread keeps this while it acquires memory or runs anything; null where there is nothing to keep. Throws
  // as enter().
  virtual std::unique_ptr<Visit> visit() const = 0;
  // Throws ERR_TRT_DEVICE_LOST where nothing can run any more.
  virtual void throwIfLost() const = 0;
  // Made and used by one thread at a time, which has entered.
  virtual std::unique_ptr<Lane> createLane(const LaneOptions& options) const = 0;
  // Returns once all is there that the lanes have had made in the background, so that later requests are faster: how
  // much of it none of them has met yet.
  virtual std::size_t awaitPrepared() const { return 0; }
  // Bytes of device memory that it holds: all lanes of all sessions, and what the runtime allocates for itself.
  virtual std::size_t deviceBytes() const noexcept = 0;

  // Measures it beside its lanes, on this thread and on others that end with it. Throws ABORTED,
  // ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE and what running it throws.
  virtual BenchmarkResult benchmark(const BenchmarkOptions& options, BenchmarkWatch& watch) const = 0;

  // How much longer than others its lanes are waited for at the end of the process.
  virtual std::chrono::seconds patienceAtExit() const noexcept { return std::chrono::seconds(0); }

  const std::vector<IoTensor>& inputs() const noexcept { return inputs_; }
  const std::vector<IoTensor>& outputs() const noexcept { return outputs_; }
  // Inputs that a request may leave out, where the model has a value for each.
  const std::vector<IoTensor>& optionals() const noexcept { return optionals_; }
  const Metadata& metadata() const noexcept { return metadata_; }
  const std::vector<UnsupportedTensor>& unsupported() const noexcept { return unsupported_; }
  int32_t profiles() const noexcept { return profiles_; }
  // Whether an input may have so many dimensions. onnxruntime does not tell a scalar from a tensor of which the model
  // says no shape, and takes any for both.
  bool takesRank(std::size_t input, std::size_t rank) const noexcept {
    const std::size_t declared = inputs_[input].shape.size();
    return declared == rank || (declared == 0 && deviceIndex() < 0);
  }
  // Throws ERR_TRT_INVALID_ARGUMENT unless requests can merge into batches of up to `maxBatch` rows: dimension 0 of
  // every input and output is dynamic, rows are whole bytes and not the CPU's alone, and some profile takes that many.
  void checkMergeable(int64_t maxBatch) const;
  // Throws ERR_TRT_INVALID_ARGUMENT unless there is an optimization profile of that number; 0 there always is.
  void checkProfileNumber(int32_t profile) const;
  // The profile that takes these shapes and values with the least distance to its optimum, or `fixed` where that is not
  // negative; 0 where there is none. Throws ERR_TRT_SHAPE, with the range where the profile is fixed.
  int32_t profileFor(const Shapes& shapes, const Values& values = {}, int32_t fixed = -1) const;
  // What a batch has in the inputs for which profiles say values.
  Values valuesOf(const Batch& batch) const;
  // "'x' [2, 3], 'size' [2] of 4, 8", for messages.
  std::string inputsText(const Shapes& shapes, const Values& values) const;

 protected:
  // What a runtime says of the model, when it is loaded.
  int32_t profiles_ = 0;
  std::vector<IoTensor> inputs_;
  std::vector<IoTensor> outputs_;
  std::vector<IoTensor> optionals_;
  std::vector<UnsupportedTensor> unsupported_;
  Metadata metadata_;

 private:
  std::optional<int64_t> distanceTo(const Shapes& shapes, const Values& values, std::size_t profile) const;
  void checkProfile(const Shapes& shapes, const Values& values, std::size_t profile) const;
};

// ERR_TRT_SHAPE for memory that a request named for an output that has another size.
Error wrongTarget(const IoTensor& tensor, const Target& target, const Output& output);

}  // namespace nt::execution
