// Leases of byte ranges of a block of memory, against a model of them: lists and walks.
#include <algorithm>
#include <map>
#include <random>

#include "../../../native/base/byte_leases.h"
#include "../support/test.h"

namespace {

// The leases of a block of a MiB, with a model of them.
struct LeasedBlock {
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  using Range = std::pair<std::size_t, std::size_t>;  // first byte, and the one behind the last
  struct Held {
    Range range;
    uint64_t call;
    nt::Access access;
    nt::ByteLeases::Lease lease;
  };

  std::vector<uint8_t> bytes = std::vector<uint8_t>(kBytes);
  nt::ByteLeases leases;
  std::vector<Held> held;
  std::vector<int> told;         // in the order in which they were
  std::map<int, Range> waiting;  // whom nobody has told yet

  nt::ByteRange at(const Range& range) const { return {bytes.data() + range.first, range.second - range.first}; }
  static bool overlap(const Range& a, const Range& b) { return a.first < b.second && b.first < a.second; }
  bool isFree(const Range& range) const {
    return std::ranges::none_of(held, [&](const Held& each) { return overlap(each.range, range); });
  }
  // Whether the model has a conflict.
  bool conflicts(const Range& range, uint64_t call, nt::Access access) const {
    return std::ranges::any_of(held, [&](const Held& each) {
      const bool writes = access == nt::Access::write || each.access == nt::Access::write;
      return overlap(each.range, range) && (each.call != call || writes);
    });
  }
  // Whether it was leased.
  bool lease(const Range& range, uint64_t call, nt::Access access = nt::Access::read) {
    if (leases.conflict(at(range), call, access) != nt::ByteLeases::Conflict::none) return false;
    held.push_back({range, call, access, leases.begin(at(range), call, access)});
    return true;
  }
  bool wait(int who, const Range& range) {
    const bool waits = leases.wait(at(range), [this, who] { told.push_back(who); });
    if (waits) waiting[who] = range;
    return waits;
  }
  // Tells those whom the end of a lease frees, and checks that it is they and no others.
  void end(std::size_t which) {
    const Held ended = held[which];
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    std::vector<int> wanted;
    for (const auto& [who, range] : waiting)
      if (overlap(range, ended.range) && isFree(range)) wanted.push_back(who);
    told.clear();
    for (const auto& waiter : leases.end(ended.lease)) waiter.tell();
    CHECK_EQ(told, wanted);
    for (const int who : told) waiting.erase(who);
  }
};

}  // namespace

TEST("leases: disjoint ranges are leased at once, what overlaps another call's is refused, down to the byte") {
  using nt::Access;
  LeasedBlock block;
  CHECK(block.lease({100, 200}, 1));
  CHECK(block.lease({300, 400}, 2, Access::write));
  CHECK(block.lease({200, 300}, 3));  // between them, to the byte
  CHECK(block.lease({99, 100}, 4));
  for (const auto& range :
       {LeasedBlock::Range{0, 100}, {99, 101}, {199, 201}, {150, 151}, {0, 1000}, {299, 300}, {399, 500}})
    for (const Access access : {Access::read, Access::write}) CHECK(!block.lease(range, 5, access));
  CHECK(block.lease({400, 500}, 5));
  // a call may read its own bytes twice, and write none that it reads
  CHECK(block.lease({150, 200}, 1));
  CHECK(block.lease({100, 200}, 1));
  CHECK(!block.lease({120, 130}, 1, Access::write));
  CHECK(!block.lease({399, 400}, 2));
  // one that begins before others of its call, and is longer, is found behind them
  CHECK(block.lease({500, 600}, 6));
  CHECK(block.lease({510, 520}, 6));
  CHECK(!block.lease({590, 591}, 7));
  CHECK(block.leases.conflict(block.at({590, 591}), 7, Access::read) == nt::ByteLeases::Conflict::others);
  CHECK(block.leases.conflict(block.at({590, 591}), 6, Access::write) == nt::ByteLeases::Conflict::own);
}

TEST("leases: who waits is told once, when the last lease that overlaps his range ends, and in the order of arrival") {
  LeasedBlock block;
  block.lease({0, 10}, 1);
  block.lease({10, 20}, 2);
  block.lease({20, 30}, 3);
  CHECK(!block.wait(0, {30, 40}));
  for (int who = 1; who <= 20; ++who) CHECK(block.wait(who, {5, 15}));
  CHECK(block.wait(21, {0, 30}));
  block.end(2);
  CHECK(block.told.empty());
  block.end(0);
  CHECK(block.told.empty());
  block.lease({0, 10}, 4);  // of the same bytes meanwhile: it is waited for, too
  block.end(0);
  CHECK(block.told.empty());
  block.end(0);
  CHECK_EQ(block.told.size(), 21u);
  CHECK(!block.wait(1, {0, 1000}));
}

TEST("leases: 20000 random ones, and who waits for them") {
  std::mt19937 random(25);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  LeasedBlock block;
  std::size_t refused = 0, told = 0;
  uint64_t call = 0;
  for (int who = 0; who < 20000; ++who) {
    const auto range = [&](std::size_t most) {
      const std::size_t first = below(200);
      return LeasedBlock::Range{first, first + 1 + below(most)};
    };
    if (below(3) > 0) {
      call += below(3) > 0 ? 1 : 0;
      const auto leased = range(below(4) > 0 ? 8 : 60);
      const auto access = below(3) > 0 ? nt::Access::read : nt::Access::write;
      const bool wanted = !block.conflicts(leased, call, access);
      CHECK_EQ(block.lease(leased, call, access), wanted);
      refused += wanted ? 0 : 1;
    }
    if (below(2) > 0) {
      const auto awaited = range(below(4) > 0 ? 8 : 200);
      const bool wanted = !block.isFree(awaited);
      CHECK_EQ(block.wait(who, awaited), wanted);
    }
    while (!block.held.empty() && below(5) < 2) {
      block.end(below(block.held.size()));
      told += block.told.size();
    }
  }
  while (!block.held.empty()) block.end(0);
  CHECK(block.waiting.empty());
  CHECK(refused > 1000 && told > 1000);
}

// No time is measured: what counts is how often it is asked whether bytes are free.
TEST("leases: 4096 that wait while 4096 leases end have it looked 4096 times whether bytes are free") {
  constexpr std::size_t kCount = 4096, kEach = LeasedBlock::kBytes / kCount;
  const auto waitsFor = [](std::size_t i, int kind) -> LeasedBlock::Range {
    if (kind == 0) return {i * kEach, (i + 1) * kEach};  // its own
    return kind == 1 ? LeasedBlock::Range{0, LeasedBlock::kBytes} : LeasedBlock::Range{0, (i + 1) * kEach};
  };
  for (int kind = 0; kind < 3; ++kind) {
    for (int order = 0; order < (kind == 2 ? 1 : 3); ++order) {
      LeasedBlock block;
      for (std::size_t i = 0; i < kCount; ++i) block.lease(waitsFor(i, 0), i + 1);
      std::size_t told = 0;
      for (std::size_t i = 0; i < kCount; ++i)
        CHECK(block.leases.wait(block.at(waitsFor(i, kind)), [&told] { ++told; }));
      std::vector<std::size_t> ends(kCount);
      for (std::size_t i = 0; i < kCount; ++i) ends[i] = order == 1 ? kCount - 1 - i : i;
      if (order == 2) std::shuffle(ends.begin(), ends.end(), std::mt19937(7));
      for (std::size_t i = 0; i < kCount; ++i) {
        for (const auto& waiter : block.leases.end(block.held[ends[i]].lease)) waiter.tell();
        if (i + 1 == kCount / 2) CHECK_EQ(told, kind == 1 ? 0 : kCount / 2);
      }
      CHECK_EQ(told, kCount);
      CHECK(block.leases.looks() <= kCount);
    }
  }
}
