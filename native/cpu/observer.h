// What is counted of the outputs of an engine that is observed: by all of its lanes, where onnxruntime put them.
#pragma once

#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "../execution/engine.h"
#include "histogram.h"

namespace nt::cpu {

class Observer {
 public:
  // Outputs of float32.
  explicit Observer(std::vector<execution::IoTensor> outputs);

  const std::vector<execution::IoTensor>& outputs() const noexcept { return outputs_; }
  // On any thread; each brings a scratch of its own. Lanes wait for each other at the same output alone.
  void note(std::size_t output, const execution::Shape& shape, std::span<const float> values,
            Histogram::Scratch& scratch);

  struct Seen {
    execution::Shape shape;  // the first time; none yet where `any` is false
    bool any = false;
    Histogram histogram;
  };
  // So far.
  Seen seen(std::size_t output) const;

 private:
  struct Watched {
    mutable std::mutex mutex;
    Seen seen;
  };
  const std::vector<execution::IoTensor> outputs_;
  std::deque<Watched> watched_;
};

}  // namespace nt::cpu
