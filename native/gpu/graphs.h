// CUDA graphs of one lane: which shapes have been seen often enough, and what was captured for them.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "../cuda/device.h"

namespace nt::gpu {

class GraphCache {
 public:
  // slot, profile, and all shapes
  using Key = std::vector<int64_t>;

  // A captured graph, or null.
  const cuda::OwnedGraph* find(const Key& key);
  // Counts a use; true when the shape has earned a capture.
  bool shouldCapture(const Key& key);
  void insert(const Key& key, std::unique_ptr<cuda::OwnedGraph> graph);
  // The shape cannot be captured: it is not tried again.
  void refuse(const Key& key) { uses_[key] = kRefused; }
  // Forgets a slot's graphs: its buffers have moved.
  void forgetSlot(int64_t slot);
  std::size_t size() const noexcept { return graphs_.size(); }

  static constexpr std::size_t kMost = 16;
  static constexpr int kUsesBefore = 2;  // the third use is captured

 private:
  static constexpr int kRefused = -1;
  static constexpr std::size_t kMostCounted = 1024;  // a server that sees ever new shapes forgets its counts
  std::list<std::pair<Key, std::unique_ptr<cuda::OwnedGraph>>> graphs_;  // most recently used first
  std::map<Key, int> uses_;
};

}  // namespace nt::gpu
