#include "layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../base/error.h"

namespace nt::execution {
namespace {

constexpr std::size_t kMostBytes = SIZE_MAX / 2;

// Offsets of all inputs but those that are leased where the rows are one request's alone; how many bytes that is.
std::size_t place(Rows& piece, const std::vector<std::size_t>& rowBytes, const Part& part) {
  std::size_t bytes = 0;
  piece.offsets.clear();
  for (std::size_t input = 0; input < rowBytes.size(); ++input) {
    piece.offsets.push_back(bytes);
    const bool elsewhere = piece.sole && part.lease(input) != nullptr;
    bytes += elsewhere ? 0 : bytesOf(rowBytes[input], piece.room, bytes);
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

void layOut(Batch& batch, const Shapes& shapes, const std::vector<std::size_t>& rowBytes, const Part& first,
            int64_t rows, bool merging, const Allocate& allocate) {
  // what is as it was is not written again: the lane has read it, and would have to fetch it once more
  const bool same = !batch.pieces.empty() && batch.pieces.front().room >= rows && !batch.leased &&
                    first.leases.empty() && batch.shapes == shapes && batch.rowBytes == rowBytes;
  if (!same) {
    batch.shapes.clear();  // unlike any other, until all of it is as it is to be
    batch.rowBytes = rowBytes;
    batch.leased = !first.leases.empty();
    batch.pieces.resize(1);
    Rows& piece = batch.pieces.front();
    piece.room = rows;
    piece.sole = !merging || rows == first.rows;
    const std::size_t bytes = place(piece, rowBytes, first);
    if (!piece.memory || piece.memory->capacity() < bytes) {
      piece.room = 0;
      piece.memory = allocate(bytes);
      piece.room = rows;
    }
    batch.shapes = shapes;
  }
  batch.pieces.front().memory->rest(false);
}

void makeRoom(Batch& batch, const Part& part, int64_t most, const Allocate& allocate) {
  const Rows& last = batch.pieces.back();
  if (last.count + part.rows <= last.room) return;
  Rows next;
  next.first = batch.rows;
  next.room = rowsAtOnce(part, batch.rowBytes, most - batch.rows - part.rows);
  next.sole = next.room == part.rows;
  next.memory = allocate(place(next, batch.rowBytes, part));
  batch.pieces.push_back(std::move(next));
}

void Batch::add(Part part) {
  part.row = rows;
  rows += part.rows;
  if (!pieces.empty()) pieces.back().count += part.rows;
  parts.push_back(std::move(part));
}

void Batch::remove(std::vector<Part>::iterator part) {
  const std::size_t at = static_cast<std::size_t>(&piece(part->row) - pieces.data());
  Rows& own = pieces[at];
  const int64_t behind = part->row + part->rows;
  const int64_t left = own.first + own.count - behind;
  for (std::size_t input = 0; left > 0 && input < rowBytes.size(); ++input) {
    std::memmove(row(input, part->row), row(input, behind), rowBytes[input] * static_cast<std::size_t>(left));
  }
  own.count -= part->rows;
  for (std::size_t i = at + 1; i < pieces.size(); ++i) pieces[i].first -= part->rows;
  if (own.count == 0 && pieces.size() > 1) pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
  for (auto later = part + 1; later != parts.end(); ++later) later->row -= part->rows;
  rows -= part->rows;
  parts.erase(part);
}

void Batch::clear() noexcept {
  parts.clear();
  rows = 0;
  copied = 0;
  full = leaving = false;
  if (pieces.empty()) return;
  const HostBlock* memory = pieces.front().memory.get();
  if (pieces.size() > 1 || memory == nullptr || memory->capacity() > kKept) return pieces.clear();
  pieces.front().first = pieces.front().count = 0;
  pieces.front().memory->rest(true);
}

}  // namespace nt::execution
