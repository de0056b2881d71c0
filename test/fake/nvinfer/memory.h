// Device memory as TensorRT takes it: from the application's allocator where there is one, else from the driver.
#pragma once
#include "common.h"

namespace fake {

class Memory {
 public:
  explicit Memory(IGpuAllocator* allocator) : allocator_(allocator) {}
  Memory(const Memory&) = delete;
  ~Memory() { release(); }

  // The real ones call both kinds of methods; the application's allocator is to have both.
  bool take(std::size_t bytes);
  bool takeAsync(std::size_t bytes, cudaStream_t stream);
  void release();
  void* get() const { return memory_; }
  std::size_t size() const { return size_; }
  // What the log says where so many bytes were not to be had.
  std::string failure(std::size_t bytes) const;

 private:
  bool taken(std::size_t bytes);
  IGpuAllocator* const allocator_;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  bool async_ = false;
  cudaStream_t stream_ = nullptr;
  int result_ = 0;  // the driver's
};

}  // namespace fake
