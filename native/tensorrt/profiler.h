// nvinfer1::IProfiler: how long each layer of an execution took.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"

namespace nt::tensorrt {

// TensorRT calls it on the thread that enqueues, before the enqueue returns.
class Profiler {
 public:
  explicit Profiler(Family family);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // The object that TensorRT calls.
  void* object() const noexcept;
  // Before each enqueue.
  void beginIteration() noexcept;

  struct Layer {
    std::string name;
    std::vector<float> milliseconds;  // one for each iteration that ran it
    int lastIteration = 0;
  };
  // In the order in which TensorRT first told of them; several may have one name. Throws what noting a time threw.
  const std::vector<Layer>& layers() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
  void* object_;
  Family family_;
};

}  // namespace nt::tensorrt
