#include "graphs.h"

#include <algorithm>

namespace nt::gpu {

const cuda::OwnedGraph* GraphCache::find(const Key& key) {
  const auto found = std::ranges::find(graphs_, key, [](const auto& entry) -> const Key& { return entry.first; });
  if (found == graphs_.end()) return nullptr;
  graphs_.splice(graphs_.begin(), graphs_, found);
  return found->second.get();
}

bool GraphCache::shouldCapture(const Key& key) {
  if (uses_.size() >= kMostCounted) uses_.clear();
  int& uses = uses_[key];
  if (uses == kRefused) return false;
  return uses++ >= kUsesBefore;
}

void GraphCache::insert(const Key& key, std::unique_ptr<cuda::OwnedGraph> graph) {
  graphs_.emplace_front(key, std::move(graph));
  if (graphs_.size() <= kMost) return;
  // it has to earn its next capture, else a server with more shapes than places would capture at every call
  uses_.erase(graphs_.back().first);
  graphs_.pop_back();
}

void GraphCache::forgetSlot(int64_t slot) {
  std::erase_if(graphs_, [&](const auto& entry) { return entry.first.front() == slot; });
  std::erase_if(uses_, [&](const auto& entry) { return entry.first.front() == slot; });
}

}  // namespace nt::gpu
