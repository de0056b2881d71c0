#include "host_ring.h"

#include <algorithm>

namespace nt {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // a chunk's bytes are a multiple of it

}  // namespace

HostRing::HostRing(HostPool& pool, std::size_t limit, std::size_t first)
    : pool_(pool), limit_(limit), ready_(first / 4), lacking_(std::min(std::max<std::size_t>(first, 1), limit)) {}

HostRing::~HostRing() {
  for (const Chunk& chunk : chunks_) chunk.memory->setIdle(false);
}

std::shared_ptr<HostBlock> HostRing::take(std::size_t bytes, For purpose) {
  if (bytes > most(purpose)) return nullptr;
  bytes = aligned(std::max<std::size_t>(bytes, 1));
  HostBlock* piece = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (taken_[static_cast<int>(purpose)] + bytes > most(purpose)) return nullptr;
    piece = cut(bytes, purpose);
  }
  if (piece != nullptr)
    return std::shared_ptr<HostBlock>(piece, [ring = shared_from_this()](HostBlock* b) { ring->giveBack(b); });
  note(bytes);
  return nullptr;
}

void HostRing::note(std::size_t lacking) noexcept {
  std::size_t before = lacking_;
  while (before < lacking && !lacking_.compare_exchange_weak(before, lacking)) continue;
}

bool HostRing::hasRoom(std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(chunks_, [&](const Chunk& chunk) {
    return std::ranges::any_of(chunk.free, [&](const auto& range) { return range.second >= bytes; });
  });
}

// The lock is held.
HostBlock* HostRing::cut(std::size_t bytes, For purpose) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
    const auto found = std::ranges::find_if(chunk->free, [&](const auto& range) { return range.second >= bytes; });
    if (found == chunk->free.end()) continue;
    const HostBlock& memory = *chunk->memory;
    auto* piece = new HostBlock(memory.data() + found->first, bytes, memory.pinned(), memory.idleBytes_);
    memory.idleBytes_ -= bytes;
    pieces_.emplace(piece, Piece{chunk, purpose});
    if (found->second > bytes) chunk->free.emplace(found->first + bytes, found->second - bytes);
    chunk->free.erase(found);
    chunk->since = ++clock_;
    taken_[static_cast<int>(purpose)] += bytes;
    return piece;
  }
  return nullptr;
}

void HostRing::giveBack(HostBlock* piece) noexcept {
  piece->setIdle(true);
  {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(piece);
    const auto [chunk, purpose] = found->second;
    pieces_.erase(found);
    taken_[static_cast<int>(purpose)] -= piece->capacity();
    auto& free = chunk->free;
    auto range = free.emplace(static_cast<std::size_t>(piece->data() - chunk->memory->data()), piece->capacity()).first;
    if (const auto next = std::next(range); next != free.end() && range->first + range->second == next->first) {
      range->second += next->second;
      free.erase(next);
    }
    if (range != free.begin()) {
      const auto before = std::prev(range);
      if (before->first + before->second == range->first) {
        before->second += range->second;
        free.erase(range);
      }
    }
  }
  delete piece;
}

void HostRing::grow() {
  const std::size_t lacking = lacking_.exchange(0);
  if (lacking == 0) return;
  std::size_t bytes = (lacking + kChunk - 1) / kChunk * kChunk;
  std::list<Chunk> old;
  {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - bytes_) old = spare(bytes);
    if (bytes > limit_ - bytes_) return;  // what is in use comes back
    // as much again as there is: few calls of the driver lead to what a session needs
    bytes = std::min(std::max(bytes, bytes_ / kChunk * kChunk), (limit_ - bytes_) / kChunk * kChunk);
    bytes_ += bytes;
  }
  for (const Chunk& chunk : old) chunk.memory->setIdle(false);
  old.clear();
  std::shared_ptr<HostBlock> memory;
  try {
    memory = pool_.tryAcquire(bytes);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
    throw;
  }
  const std::lock_guard lock(mutex_);
  if (!memory) {
    bytes_ -= bytes;
    return;
  }
  memory->setIdle(true);
  chunks_.push_back({std::move(memory), {{0, bytes}}, ++clock_});
}

// The lock is held. Takes out chunks of which nothing is in use, those first that were not for longest, until there is
// room for so many bytes; none where that does not suffice.
std::list<HostRing::Chunk> HostRing::spare(std::size_t bytes) {
  std::list<Chunk> old;
  std::size_t idle = limit_ - bytes_;
  for (const Chunk& chunk : chunks_) idle += chunk.whole() ? chunk.memory->capacity() : 0;
  if (idle < bytes) return old;
  while (limit_ - bytes_ < bytes) {
    auto oldest = chunks_.end();
    for (auto each = chunks_.begin(); each != chunks_.end(); ++each) {
      if (each->whole() && (oldest == chunks_.end() || each->since < oldest->since)) oldest = each;
    }
    bytes_ -= oldest->memory->capacity();
    old.splice(old.end(), chunks_, oldest);
  }
  return old;
}

std::shared_ptr<HostBlock> HostRing::takeOrGrow(std::size_t bytes, For purpose) {
  auto block = take(bytes, purpose);
  if (!block) {
    grow();
    block = take(bytes, purpose);
  }
  if (block && ready_ > 0 && !hasRoom(ready_)) {
    note(ready_);
    grow();
  }
  return block;
}

}  // namespace nt
