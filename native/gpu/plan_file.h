// A plan in a file that is open: read where TensorRT wants it, without a copy of the whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../base/descriptor.h"

namespace nt::gpu {

class PlanFile {
 public:
  // A descriptor of its own of what `descriptor` has open: that one may be closed, and its position stays. Throws
  // ERR_TRT_FILE.
  explicit PlanFile(int descriptor);

  std::size_t size() const noexcept { return size_; }
  // The first bytes, at least as many as a header has where the plan has them.
  const std::vector<uint8_t>& head() const noexcept { return head_; }
  // Up to `bytes` from `offset`; fewer only at the end of the file. Throws ERR_TRT_FILE.
  std::size_t read(void* to, std::size_t bytes, std::size_t offset) const;
  std::vector<uint8_t> readAll() const;

 private:
  const Descriptor file_;
  std::size_t size_ = 0;
  std::vector<uint8_t> head_;
};

}  // namespace nt::gpu
