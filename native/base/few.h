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
class Few {
 public:
  Few() = default;
  Few(Few&& other) noexcept
      : few_(std::move(other.few_)), many_(std::move(other.many_)), size_(std::exchange(other.size_, 0)) {}
  Few& operator=(Few&& other) noexcept {
    few_ = std::move(other.few_);
    many_ = std::move(other.many_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // As many new elements, instead of those that there are.
  void reset(std::size_t size) {
    if (size_ > 0) few_ = {};
    many_.clear();
    if (size > N) many_.resize(size);
    size_ = size;
  }
  T* begin() noexcept { return size_ > N ? many_.data() : few_.data(); }
  T* end() noexcept { return begin() + size_; }
  const T* begin() const noexcept { return size_ > N ? many_.data() : few_.data(); }
  const T* end() const noexcept { return begin() + size_; }
  T& operator[](std::size_t i) noexcept { return begin()[i]; }
  const T& operator[](std::size_t i) const noexcept { return begin()[i]; }

 private:
  std::array<T, N> few_;
  std::vector<T> many_;
  std::size_t size_ = 0;
};

}  // namespace nt
