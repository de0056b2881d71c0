#include "memory.h"

#include <cstring>

namespace fake {

bool Memory::take(std::size_t bytes) {
  if (!bytes) return true;
  if (allocator_) {
    memory_ = allocator_->allocate(bytes, 256, 0);
    return taken(bytes);
  }
  unsigned long long address = 0;
  if ((result_ = driver()->alloc(&address, bytes))) return false;
  memory_ = reinterpret_cast<void*>(address);
  return taken(bytes);
}

bool Memory::takeAsync(std::size_t bytes, cudaStream_t stream) {
  if (!bytes) return true;
  stream_ = stream;
  if (allocator_) {
    async_ = true;
    memory_ = allocator_->allocateAsync(bytes, 256, 0, stream);
    return taken(bytes);
  }
  // without a stream what lasts is taken, as cudaMalloc does
  if (!stream) return take(bytes);
  async_ = true;
  unsigned long long address = 0;
  if ((result_ = driver()->allocAsync(&address, bytes, stream))) return false;
  memory_ = reinterpret_cast<void*>(address);
  return taken(bytes);
}

bool Memory::taken(std::size_t bytes) {
  if (!memory_) return false;
  if (reinterpret_cast<std::uintptr_t>(memory_) % 256) misused("unalignedAddress");
  size_ = bytes;
  return true;
}

void Memory::release() {
  if (!memory_) return;
  const bool context = haveContext();
  const auto address = reinterpret_cast<std::uintptr_t>(memory_);
  if (allocator_ && async_) {
    allocator_->deallocateAsync(memory_, stream_);
  } else if (allocator_) {
    allocator_->deallocate(memory_);
  } else if (context && async_) {
    driver()->freeAsync(address, stream_);
  } else if (context) {
    driver()->free(address);
  }
  memory_ = nullptr;
  size_ = 0;
}

std::string Memory::failure(std::size_t bytes) const {
  constexpr int kOutOfMemory = 2;
  if (result_ && result_ != kOutOfMemory) return "Error Code 1: Cuda Runtime (error " + std::to_string(result_) + ")";
  return "Error Code 2: OutOfMemory (Requested size was " + std::to_string(bytes) + " bytes.)";
}

}  // namespace fake
