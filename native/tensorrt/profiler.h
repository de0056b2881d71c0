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
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // The object that TensorRT calls.
  void* object() const noexcept { return object_.get(); }
  // Before each enqueue.
  void beginIteration() noexcept;
  // What the object is called with.
  void report(const char* name, float milliseconds) noexcept;

  struct Layer {
    std::string name;
    std::vector<float> milliseconds;  // one for each iteration that ran it
    int lastIteration = 0;
  };
  // In the order in which TensorRT first told of them; several may have one name. Throws what noting a time threw.
  const std::vector<Layer>& layers() const;

 private:
  Layer& find(const std::string& name);

  std::shared_ptr<void> object_;
  std::vector<Layer> layers_;
  std::size_t next_ = 0;  // the layers come in the same order each time
  int iteration_ = 0;
  std::exception_ptr failure_;
};

}  // namespace nt::tensorrt
