// Pinned memory of a slot, through which data goes that lies in ordinary memory: a device copies from there and to
// there while the CPU goes on.
#pragma once

#include <memory>

#include "../base/host_pool.h"
#include "../cuda/device.h"

namespace nt::gpu {

class Staging {
 public:
  // `most`: bytes that it may grow to.
  Staging(HostPool& pool, std::size_t most) : pool_(pool), most_(most) {}

  // All of it is free again, and there is room for so many bytes where that is allowed and to be had. Throws the errors
  // of cuda/, but for memory that is out.
  void begin(std::size_t bytes);
  // Until the next begin(). Null where there is no room.
  uint8_t* take(std::size_t bytes) noexcept;
  bool unused() const noexcept { return used_ == 0; }
  void setIdle() noexcept {
    if (block_) block_->setIdle(true);
  }

  // Puts a copy on the stream; the source may be written to afterwards. Waits for the stream where there is more than
  // fits here.
  void toDevice(cuda::DevicePtr to, const uint8_t* from, std::size_t bytes, const cuda::OwnedStream& stream);

 private:
  HostPool& pool_;
  const std::size_t most_;
  std::shared_ptr<HostBlock> block_;  // null where there was no memory
  std::size_t used_ = 0;
};

}  // namespace nt::gpu
