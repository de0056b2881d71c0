// nvinfer1::IStreamReaderV2: how TensorRT reads a plan from a file.
#pragma once

#include <exception>
#include <memory>

#include "../base/host_pool.h"
#include "../cuda/device.h"
#include "../tensorrt/versioned.h"
#include "plan_file.h"

namespace nt::gpu {

// One layout in all families that have it. TensorRT calls it on the thread that deserializes; nothing may throw out of
// it.
class StreamReader : public tensorrt::Versioned {
 public:
  // Both outlive it; the device is current on the thread that reads.
  StreamReader(const PlanFile& file, const cuda::DeviceContext& device)
      : Versioned("IStreamReaderV2"), file_(file), device_(device) {}

  // To host memory, or to device memory in the order of the stream. As many bytes as there are; negative where reading
  // failed. Done when it returns.
  virtual int64_t read(void* to, int64_t bytes, void* stream) noexcept;
  virtual bool seek(int64_t offset, int32_t from) noexcept;

  // What reading threw; TensorRT itself only says that it could not deserialize.
  std::exception_ptr failure() const noexcept { return failure_; }

 private:
  bool isOnDevice(void* memory) const noexcept;
  std::size_t readToDevice(void* to, std::size_t bytes, void* stream);

  const PlanFile& file_;
  const cuda::DeviceContext& device_;
  std::size_t position_ = 0;
  std::shared_ptr<HostBlock> staging_;
  std::exception_ptr failure_;
};

}  // namespace nt::gpu
