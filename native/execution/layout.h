// Where the rows of requests lie: memory comes as requests do, so that there is never much more than their data.
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

// The rows that a batch runs with: those that it has, and padding up to the next of the sizes that is allowed.
int64_t paddedRows(int64_t rows, const std::vector<int64_t>& pad, int64_t maxBatch);

// Memory for `room` rows of requests like `part`. Where no others are to follow, what `part` leases needs none. Throws
// ERR_TRT_OUT_OF_MEMORY, and has no room then. Takes the block that is there where it is large enough.
void layOut(Rows& rows, const std::vector<std::size_t>& rowBytes, const Part& part, int64_t room, bool sole,
            const Allocate& allocate);

// Makes an empty batch one for a single request, with memory of its own for `rows` rows. Throws ERR_TRT_OUT_OF_MEMORY.
void layOut(Batch& batch, const Shapes& shapes, const std::vector<std::size_t>& rowBytes, const Part& part,
            int64_t rows, const Allocate& allocate);

}  // namespace nt::execution
