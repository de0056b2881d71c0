// Where the rows of a batch lie: memory comes as requests do, so that a batch never holds much more than their data.
#pragma once

#include <functional>

#include "batch.h"

namespace nt::execution {

using Allocate = std::function<std::shared_ptr<HostBlock>(std::size_t bytes)>;

// A request of so many bytes has memory of its own, smaller ones share some of that size; and so with results.
inline constexpr std::size_t kOwnMemory = std::size_t{64} << 10;

// The memory that some rows of an input take, behind `before` bytes. Throws ERR_TRT_OUT_OF_MEMORY.
std::size_t bytesOf(std::size_t rowBytes, int64_t rows, std::size_t before);

// How many rows to have memory for when requests merge and one of `part.rows` rows comes: `more` rows of others may
// follow.
int64_t rowsAtOnce(const Part& part, const std::vector<std::size_t>& rowBytes, int64_t more);

// Makes an empty batch one for requests like `first`, with memory for `rows` rows. Where nothing merges, or no others
// are to follow, what `first` leases needs none. Throws ERR_TRT_OUT_OF_MEMORY.
void layOut(Batch& batch, const Shapes& shapes, const std::vector<std::size_t>& rowBytes, const Part& first,
            int64_t rows, bool merging, const Allocate& allocate);
// Makes room in a batch that is laid out for one more request; `most` rows the batch may have.
void makeRoom(Batch& batch, const Part& part, int64_t most, const Allocate& allocate);

}  // namespace nt::execution
