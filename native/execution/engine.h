// A loaded model, whatever runs it: what it says of its inputs and outputs, and the lanes that it makes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "../base/dtype.h"
#include "../base/error.h"
#include "../base/host_pool.h"
#include "lane.h"

namespace nt::execution {

struct ShapeRange {
  Shape min, opt, max;
};

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
};

// An input or output that no tensor of ours can hold.
struct UnsupportedTensor {
  std::string name;
  bool input = false;
  std::string type;
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
  // Each thread calls it before it acquires memory or runs anything. Throws where nothing can run any more.
  virtual void enter() const = 0;
  // Throws ERR_TRT_DEVICE_LOST where nothing can run any more.
  virtual void throwIfLost() const = 0;
  // Made and used by one thread at a time, which has entered.
  virtual std::unique_ptr<Lane> createLane(const LaneOptions& options) const = 0;
  // Bytes on the device that a lane takes beside its tensors.
  virtual std::size_t laneBytes() const noexcept = 0;

  // How much longer than others its lanes are waited for at the end of the process.
  virtual std::chrono::seconds patienceAtExit() const noexcept { return std::chrono::seconds(0); }

  const std::vector<IoTensor>& inputs() const noexcept { return inputs_; }
  const std::vector<IoTensor>& outputs() const noexcept { return outputs_; }
  const std::vector<UnsupportedTensor>& unsupported() const noexcept { return unsupported_; }
  int32_t profiles() const noexcept { return profiles_; }
  // Throws ERR_TRT_INVALID_ARGUMENT unless requests can merge into batches of up to `maxBatch` rows: dimension 0 of
  // every input and output is dynamic, rows are whole bytes and not the CPU's alone, and some profile takes that many.
  void checkMergeable(int64_t maxBatch) const;
  // The profile that takes these shapes with the least distance to its optimum; 0 where there is none. Throws
  // ERR_TRT_SHAPE.
  int32_t profileFor(const Shapes& shapes) const;

 protected:
  // What a runtime says of the model, when it is loaded.
  int32_t profiles_ = 0;
  std::vector<IoTensor> inputs_;
  std::vector<IoTensor> outputs_;
  std::vector<UnsupportedTensor> unsupported_;
};

// ERR_TRT_SHAPE for memory that a request named for an output that has another size.
Error wrongTarget(const IoTensor& tensor, const Target& target, const Output& output);

}  // namespace nt::execution
