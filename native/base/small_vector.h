// A vector that has room for a few elements in itself: what most need costs no allocation, and lies where its owner
// does.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace nt {

// The first `N` elements always exist; beyond them all are in a vector.
template <class T, std::size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(SmallVector&& other) noexcept
      : inline_(std::move(other.inline_)), heap_(std::move(other.heap_)), size_(std::exchange(other.size_, 0)) {}
  SmallVector& operator=(SmallVector&& other) noexcept {
    inline_ = std::move(other.inline_);
    heap_ = std::move(other.heap_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // As many new elements, instead of those that there are.
  void reset(std::size_t size) {
    if (size_ > 0) inline_ = {};
    heap_.clear();
    if (size > N) heap_.resize(size);
    size_ = size;
  }
  T* begin() noexcept { return size_ > N ? heap_.data() : inline_.data(); }
  T* end() noexcept { return begin() + size_; }
  const T* begin() const noexcept { return size_ > N ? heap_.data() : inline_.data(); }
  const T* end() const noexcept { return begin() + size_; }
  T& operator[](std::size_t i) noexcept { return begin()[i]; }
  const T& operator[](std::size_t i) const noexcept { return begin()[i]; }

 private:
  std::array<T, N> inline_;
  std::vector<T> heap_;
  std::size_t size_ = 0;
};

}  // namespace nt
