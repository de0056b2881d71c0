// nvinfer1::IProgressMonitor: how a build tells where it is, and how it is cancelled.
#pragma once

#include <functional>
#include <string>

#include "versioned.h"

namespace nt::tensorrt {

struct ProgressEvent {
  std::string phase;
  // the phase that this one is part of, or empty
  std::string parent;
  int32_t step = 0;
  int32_t steps = 0;
};

// One layout in all families. TensorRT calls it from several threads; nothing may throw out of it.
class ProgressMonitor : public Versioned {
 public:
  using Listener = std::function<void(const ProgressEvent&)>;
  // Whether the build is to end; asked between its steps, on its threads. Must not throw.
  using Stopped = std::function<bool()>;

  ProgressMonitor(Listener listener, Stopped stopped);

  ~ProgressMonitor() override;
  virtual void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept;
  // false asks TensorRT to stop
  virtual bool stepComplete(const char* phase, int32_t step) noexcept;
  virtual void phaseFinish(const char* phase) noexcept;

 private:
  struct State;
  State* state_;
};

}  // namespace nt::tensorrt
