// Which bytes of a block of memory calls have leased, and who waits until they are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace nt {

// From an address to the one behind the last.
struct ByteRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  ByteRange(const void* data, std::size_t bytes) : begin(reinterpret_cast<uintptr_t>(data)), end(begin + bytes) {}
  bool empty() const noexcept { return begin == end; }
  auto operator<=>(const ByteRange&) const = default;
};

enum class Access : uint8_t { read, write };

// Of one block, under the lock of whoever has it. Ranges are not empty.
class ByteLeases {
 private:
  struct Leased;

 public:
  using Tell = std::function<void()>;
  struct Waiter {
    uint64_t number = 0;
    Tell tell;
  };
  using Lease = std::multimap<uintptr_t, Leased>::iterator;  // by the first byte

  // What keeps a call from a lease: that of another call on one of the bytes, or one of its own where one of both
  // writes.
  enum class Conflict : uint8_t { none, own, others };
  Conflict conflict(const ByteRange& range, uint64_t call, Access access);
  // Where there is none.
  Lease begin(const ByteRange& range, uint64_t call, Access access);
  // Who is to be told that no byte of his is leased any more, in the order in which they came: after the lock.
  [[nodiscard]] std::vector<Waiter> end(Lease lease);

  // Whether some byte is leased; where none is, nobody will be told.
  bool wait(const ByteRange& range, Tell tell);
  // For how many ranges it was asked, when a lease ended, whether they are free; for tests.
  uint64_t looks() const noexcept { return looks_; }

 private:
  // All who wait for the same bytes: they hang on one lease, and look for another when that ends.
  using Waiting = std::map<ByteRange, std::vector<Waiter>>;
  struct Leased {
    uintptr_t end = 0;
    uint64_t call = 0;
    Access access = Access::read;
    std::vector<Waiting::iterator> waiting = {};
  };

  Lease last(const ByteRange& range) { return before(all_.lower_bound(range.end), range); }
  Lease before(Lease lease, const ByteRange& range);

  std::multimap<uintptr_t, Leased> all_;
  Waiting waiting_;
  uint64_t waits_ = 0, looks_ = 0;
};

}  // namespace nt
