// A fixed amount of a pool's memory, for the requests and results of one session: taking some of it never asks the
// driver, which would hold up its caller for as long as page-locking takes.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <set>

#include "host_pool.h"

namespace nt {

class HostRing : public std::enable_shared_from_this<HostRing> {
 public:
  // So that neither what waits nor what JavaScript holds leaves nothing for the other.
  enum class For : uint8_t { input, result };

  // `limit`: bytes of all of it; `first`: bytes that are there once a thread has called grow().
  HostRing(HostPool& pool, std::size_t limit, std::size_t first);
  ~HostRing();
  HostRing(const HostRing&) = delete;
  HostRing& operator=(const HostRing&) = delete;

  // Memory that goes back, from any thread, when the last owner lets go. Null where there is none. On any thread.
  std::shared_ptr<HostBlock> take(std::size_t bytes, For purpose);
  // Gets from the pool what take() lacked, as far as the limit goes. On threads that may wait for the driver.
  void grow();
  // Both, and leaves room for the next input where it can: on such a thread.
  std::shared_ptr<HostBlock> takeOrGrow(std::size_t bytes, For purpose);

 private:
  // Memory of the pool that is given out in pieces.
  struct Chunk {
    std::shared_ptr<HostBlock> memory;
    std::map<std::size_t, std::size_t> free;  // offset → bytes; neighbours are one
    uint64_t since = 0;                       // when something was taken last
    bool whole() const { return free.size() == 1 && free.begin()->second == memory->capacity(); }
  };
  struct Piece {
    std::list<Chunk>::iterator chunk;
    For purpose;
  };

  std::size_t most(For purpose) const noexcept { return purpose == For::input ? limit_ / 4 * 3 : limit_ / 2; }
  HostBlock* cut(std::size_t bytes, For purpose);
  bool hasRoom(std::size_t bytes) const;
  void note(std::size_t lacking) noexcept;
  void giveBack(HostBlock* piece) noexcept;
  std::list<Chunk> spare(std::size_t bytes);

  HostPool& pool_;
  const std::size_t limit_;
  const std::size_t ready_;           // bytes that are to be there when the next request comes
  std::atomic<std::size_t> lacking_;  // the most bytes that were not to be had, though the limit allows them
  mutable AdaptiveMutex mutex_;
  std::list<Chunk> chunks_;
  std::size_t bytes_ = 0;  // of chunks, and of those that a thread is getting
  std::size_t taken_[2] = {0, 0};
  uint64_t clock_ = 0;
  std::map<HostBlock*, Piece> pieces_;
};

}  // namespace nt
