#include "byte_leases.h"

#include <algorithm>
#include <iterator>

namespace nt {

// The next one downwards that overlaps the range. Those of different calls do not overlap each other: one that reaches
// into the range over others that do not is of the same call as they.
ByteLeases::Lease ByteLeases::before(Lease lease, const ByteRange& range) {
  while (lease != all_.begin()) {
    const uint64_t call = (--lease)->second.call;
    if (range.begin < lease->second.end) return lease;
    if (lease == all_.begin() || std::prev(lease)->second.call != call) break;
  }
  return all_.end();
}

ByteLeases::Conflict ByteLeases::conflict(const ByteRange& range, uint64_t call, Access access) {
  if (all_.empty()) return Conflict::none;
  for (Lease lease = last(range); lease != all_.end(); lease = before(lease, range)) {
    if (lease->second.call != call) return Conflict::others;
    if (access == Access::write || lease->second.access == Access::write) return Conflict::own;
  }
  return Conflict::none;
}

ByteLeases::Lease ByteLeases::begin(const ByteRange& range, uint64_t call, Access access) {
  return all_.emplace(range.begin, Leased{range.end, call, access});
}

std::vector<ByteLeases::Waiter> ByteLeases::end(Lease lease) {
  const std::vector<Waiting::iterator> looking = std::move(lease->second.waiting);
  all_.erase(lease);
  looks_ += looking.size();
  std::vector<Waiter> free;
  for (const Waiting::iterator waiting : looking) {
    const Lease other = last(waiting->first);
    if (other != all_.end()) {
      other->second.waiting.push_back(waiting);
      continue;
    }
    std::ranges::move(waiting->second, std::back_inserter(free));
    waiting_.erase(waiting);
  }
  std::ranges::sort(free, {}, &Waiter::number);
  return free;
}

bool ByteLeases::wait(const ByteRange& range, Tell tell) {
  auto waiting = waiting_.find(range);
  if (waiting == waiting_.end()) {
    const Lease lease = last(range);
    if (lease == all_.end()) return false;
    waiting = waiting_.emplace(range, std::vector<Waiter>()).first;
    lease->second.waiting.push_back(waiting);
  }
  waiting->second.push_back({++waits_, std::move(tell)});
  return true;
}

}  // namespace nt
