// Requests that run together: a batch is made up when a lane takes it, of requests that wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/host_pool.h"
#include "request.h"

namespace nt::execution {

struct Entry;  // entry.h
struct Permit;

// Rows in one block of memory: of each input they lie together, at `offsets`. Requests that may merge share some.
struct Rows {
  int64_t room = 0;     // for so many rows
  bool sole = false;    // all are of one request, and what that leases has no place here
  bool shared = false;  // other requests' rows may lie behind those of a batch
  std::shared_ptr<HostBlock> block;
  std::vector<std::size_t> offsets;
  // the queue's, under its lock
  int64_t used = 0;    // rows that have been given to requests
  int users = 0;       // requests that wait, and batches
  uint64_t group = 0;  // whose requests it is for

  uint8_t* at(std::size_t input, std::size_t rowBytes, int64_t row) const {
    return block->data() + offsets[input] + rowBytes * static_cast<std::size_t>(row);
  }
};

struct Batch : std::enable_shared_from_this<Batch> {
  // written for each batch
  int64_t rows = 0;
  std::vector<Part> parts;
  std::size_t copied = 0;  // bytes of inputs that a lane has copied once more
  // by the host's clock: the lane begins it; its inputs are on their way or in place; it is computed; all is told
  struct Times {
    TimePoint begun, placed, computed, ended;
  } times;
  // nobody waits for any of its requests any more
  std::atomic<bool> abandoned{false};
  // the queue's: in the order of parts, who took it, how many of the requests were not cancelled, its place in the
  // order of batches
  std::vector<Entry*> entries;
  Permit* permit = nullptr;
  std::size_t wanted = 0;
  uint64_t number = 0;
  // rows of its memory that are free behind its own, which lie one behind the other; negative: they do not
  int64_t spare = -1;
  // as they were for the last one, where that was alike
  bool leased = false;  // some input is not in `memory`
  Shapes shapes;        // dimension 0 means nothing where requests merge
  std::vector<std::size_t>
      rowBytes;  // of each input: bytes of one row, or of the whole tensor when requests do not merge
  std::vector<std::shared_ptr<Rows>> memory;  // that the parts' data lies in

  // Puts a request behind those that are there.
  void add(Part part);
  // Empty again, and ready for other requests; keeps memory of its own up to this size.
  void clear() noexcept;
  static constexpr std::size_t kKept = std::size_t{16} << 10;
  // Where the rows of a request are: its own tensor, or memory that it was given.
  const uint8_t* dataOf(const Part& part, std::size_t input) const {
    const Lease* lease = part.lease(input);
    return lease != nullptr ? lease->data : part.memory->at(input, rowBytes[input], part.placed);
  }
  // Where all rows of an input lie, if they lie one behind the other in the order of parts; else null.
  const uint8_t* together(std::size_t input) const;
  TimePoint oldest() const { return parts.front().asked; }
};

}  // namespace nt::execution
