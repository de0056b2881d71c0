#include "stream_reader.h"

#include <algorithm>

#include "../cuda/pinned.h"

namespace nt::gpu {

int64_t StreamReader::read(void* to, int64_t bytes, void* stream) noexcept try {
  if (bytes < 0) return -1;
  const std::size_t wanted = std::min(static_cast<std::size_t>(bytes), file_.size() - position_);
  const std::size_t done = isOnDevice(to) ? readToDevice(to, wanted, stream) : file_.read(to, wanted, position_);
  position_ += done;
  return static_cast<int64_t>(done);
} catch (...) {
  failure_ = std::current_exception();
  return -1;
}

// The header tells implementations to ask. Memory that the driver does not know is the host's.
bool StreamReader::isOnDevice(void* memory) const noexcept {
  constexpr int kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  constexpr int kDevice = 2;      // CU_MEMORYTYPE_DEVICE
  unsigned type = 0;
  const auto pointer = reinterpret_cast<cuda::DevicePtr>(memory);
  return device_.driver().pointerGetAttribute(&type, kMemoryType, pointer) == cuda::kSuccess && type == kDevice;
}

std::size_t StreamReader::readToDevice(void* to, std::size_t bytes, void* stream) {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  const cuda::Driver& driver = device_.driver();
  if (!staging_) staging_ = cuda::pinnedPool(device_).acquireOrOrdinary(std::min(bytes, kPiece));
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t piece = std::min(bytes - done, staging_->capacity());
    const std::size_t got = file_.read(staging_->data(), piece, position_ + done);
    const auto target = reinterpret_cast<cuda::DevicePtr>(to) + done;
    if (got > 0) device_.check(driver.memcpyHtoDAsync(target, staging_->data(), got, stream), "cuMemcpyHtoDAsync");
    device_.check(driver.streamSynchronize(stream), "cuStreamSynchronize");  // what is staged is written over next
    done += got;
    if (got < piece) break;
  }
  return done;
}

bool StreamReader::seek(int64_t offset, int32_t from) noexcept {
  enum : int32_t { kStart = 0, kHere = 1, kEnd = 2 };  // nvinfer1::SeekPosition, the same in every family
  if (from < kStart || from > kEnd) return false;
  const std::size_t base = from == kStart ? 0 : from == kHere ? position_ : file_.size();
  const int64_t position = static_cast<int64_t>(base) + offset;
  if (position < 0 || position > static_cast<int64_t>(file_.size())) return false;
  position_ = static_cast<std::size_t>(position);
  return true;
}

}  // namespace nt::gpu
