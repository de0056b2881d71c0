// Requests that run together: their inputs in memory of the session's, on their way through queue and lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/host_pool.h"
#include "request.h"

namespace nt::execution {

// Memory for some rows of a batch: of each input they lie together, at `offsets`.
struct Rows {
  int64_t first = 0, count = 0;
  int64_t room = 0;   // for so many rows
  bool sole = false;  // all are of one request, and what that leases has no place here
  std::shared_ptr<HostBlock> memory;
  std::vector<std::size_t> offsets;
};

struct Batch {
  // written for each batch
  int64_t rows = 0;
  std::vector<Part> parts;
  bool full = false;
  bool leaving = false;    // somebody who closes waits for it: full, whoever is taken out of it
  int writers = 0;         // requests whose data is still being copied in
  std::size_t copied = 0;  // bytes of inputs that a lane has copied once more
  // as they were for the last one, where that was alike
  bool leased = false;  // some input is not in the memory of `pieces`
  Shapes shapes;        // dimension 0 as the first request had it; rowsOf() where requests merge
  std::vector<std::size_t>
      rowBytes;              // of each input: bytes of one row, or of the whole tensor when requests do not merge
  std::vector<Rows> pieces;  // in the order of their rows

  // Puts a request behind those that are there; there is room for it in the last piece.
  void add(Part part);
  // Takes one out. Its neighbours' rows move up, and the data of those that share its memory with them.
  void remove(std::vector<Part>::iterator part);
  // Empty again, and ready for other requests; keeps memory up to this size.
  void clear() noexcept;
  static constexpr std::size_t kKept = std::size_t{16} << 10;
  // Where a row is; the others of its request follow on it.
  const Rows& piece(int64_t index) const {
    if (pieces.size() == 1) return pieces.front();
    const auto after = std::upper_bound(pieces.begin() + 1, pieces.end(), index,
                                        [](int64_t row, const Rows& piece) { return row < piece.first; });
    return *(after - 1);
  }
  uint8_t* row(std::size_t input, int64_t index) const {
    const Rows& at = piece(index);
    return at.memory->data() + at.offsets[input] + rowBytes[input] * static_cast<std::size_t>(index - at.first);
  }
  // Where the rows of a request are: its own tensor, or the batch's memory.
  const uint8_t* dataOf(const Part& part, std::size_t input) const {
    const Lease* lease = part.lease(input);
    return lease != nullptr ? lease->data : row(input, part.row);
  }
  TimePoint oldest() const { return parts.front().asked; }
};

}  // namespace nt::execution
