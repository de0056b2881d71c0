#include "layout.h"

#include <algorithm>
#include <numeric>

#include "../base/error.h"

namespace nt::execution {
namespace {

constexpr std::size_t kMostBytes = SIZE_MAX / 2;

// Offsets of all inputs but those that are leased where the rows are one request's alone; how many bytes that is.
std::size_t place(Rows& rows, const std::vector<std::size_t>& rowBytes, const Part& part, int64_t room) {
  std::size_t bytes = 0;
  rows.offsets.clear();
  for (std::size_t input = 0; input < rowBytes.size(); ++input) {
    rows.offsets.push_back(bytes);
    const bool elsewhere = rows.sole && part.lease(input) != nullptr;
    bytes += elsewhere ? 0 : bytesOf(rowBytes[input], room, bytes);
  }
  return bytes;
}

}  // namespace

std::size_t bytesOf(std::size_t rowBytes, int64_t rows, std::size_t before) {
  std::size_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(rowBytes, static_cast<std::size_t>(rows), &bytes);
  if (!overflows && bytes <= kMostBytes - std::min(before, kMostBytes)) return aligned(bytes);
  throw Error("ERR_TRT_OUT_OF_MEMORY", "There is no memory for a batch of " + std::to_string(rows) + " rows of " +
                                           std::to_string(rowBytes) + " bytes");
}

int64_t rowsAtOnce(const Part& part, const std::vector<std::size_t>& rowBytes, int64_t more) {
  const std::size_t row = std::accumulate(rowBytes.begin(), rowBytes.end(), std::size_t{1});
  return std::max(part.rows, std::min(part.rows + more, static_cast<int64_t>(kOwnMemory / row)));
}

int64_t paddedRows(int64_t rows, const std::vector<int64_t>& pad, int64_t maxBatch) {
  const auto next = std::ranges::lower_bound(pad, rows);
  return next == pad.end() ? rows : std::max(rows, std::min(*next, maxBatch));
}

void layOut(Rows& rows, const std::vector<std::size_t>& rowBytes, const Part& part, int64_t room, bool sole,
            const Allocate& allocate) {
  rows.room = 0;
  rows.sole = sole;
  const std::size_t bytes = place(rows, rowBytes, part, room);
  if (!rows.block || rows.block->capacity() < bytes) rows.block = allocate(bytes);
  rows.room = room;
}

void layOut(Batch& batch, const Shapes& shapes, const std::vector<std::size_t>& rowBytes, const Part& part,
            int64_t rows, const Allocate& allocate) {
  // what is as it was is not written again: the lane has read it, and would have to fetch it once more
  const bool same = !batch.memory.empty() && batch.memory.front()->room >= rows && !batch.leased &&
                    part.leases.empty() && batch.shapes == shapes && batch.rowBytes == rowBytes;
  if (!same) {
    batch.shapes.clear();  // unlike any other, until all of it is as it is to be
    batch.rowBytes = rowBytes;
    batch.leased = !part.leases.empty();
    if (batch.memory.empty()) batch.memory.push_back(std::make_shared<Rows>());
    layOut(*batch.memory.front(), rowBytes, part, rows, rows == part.rows, allocate);
    batch.shapes = shapes;
  }
  batch.memory.front()->block->setIdle(false);
  batch.spare = rows - part.rows;
}

void Batch::add(Part part) {
  part.row = rows;
  rows += part.rows;
  if (part.memory == nullptr && !memory.empty()) part.memory = memory.front().get();
  parts.push_back(std::move(part));
}

const uint8_t* Batch::together(std::size_t input) const {
  const uint8_t* const first = dataOf(parts.front(), input);
  const uint8_t* next = first;
  for (const Part& part : parts) {
    if (dataOf(part, input) != next) return nullptr;
    next += rowBytes[input] * static_cast<std::size_t>(part.rows);
  }
  return first;
}

void Batch::clear() noexcept {
  parts.clear();
  rows = 0;
  copied = 0;
  if (memory.empty() || memory.front()->shared) return;
  HostBlock* const block = memory.front()->block.get();
  if (memory.size() > 1 || block == nullptr || block->capacity() > kKept) return memory.clear();
  block->setIdle(true);
}

}  // namespace nt::execution
