#include "canvas.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace nt::vision {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

// A finite coordinate that may lie far outside, as a pixel's number from 0 to `most`.
int64_t within(double coordinate, int64_t most) {
  return coordinate > 0 ? static_cast<int64_t>(std::min(coordinate, static_cast<double>(most))) : 0;
}

}  // namespace

Canvas::~Canvas() { std::free(data_); }

void Canvas::allocate() {
  // a picture of 12 megapixels has 9,000 small pages: to fault them in takes as long as to copy the picture
  const bool large = size() >= 2 * kHugePage;
  const std::size_t alignment = large ? kHugePage : 64;
  const std::size_t room = (std::max<std::size_t>(size(), 1) + alignment - 1) / alignment * alignment;
  data_ = static_cast<uint8_t*>(std::aligned_alloc(alignment, room));
  if (data_ == nullptr) throw std::bad_alloc();
  if (large) madvise(data_, room, MADV_HUGEPAGE);  // where the system has none it is as it was
}

void Canvas::copyFrom(const uint8_t* pixels) {
  allocate();
  std::memcpy(data_, pixels, size());
}

Area touched(const Bounds& bounds, int64_t width, int64_t height) {
  return {within(std::floor(bounds.left), width), within(std::floor(bounds.top), height),
          within(std::ceil(bounds.right), width), within(std::ceil(bounds.bottom), height)};
}

}  // namespace nt::vision
