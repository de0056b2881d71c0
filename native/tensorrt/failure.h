// Why a call of TensorRT gave null or false: the library says so in its log only.
#pragma once

#include <optional>
#include <string>

#include "library.h"

namespace nt::tensorrt {

// The bytes that could not be had, where a line of the log is about memory that ran out; 0 where it does not tell how
// many. Nothing for any other line.
std::optional<uint64_t> bytesWanted(const std::string& line);

// Of what was logged since the innermost LogCapture of this thread began: ERR_TRT_OUT_OF_MEMORY with `details.bytes`
// where memory ran out; for ERR_TRT_BUILD, ERR_TRT_UNSUPPORTED where the library lacks the builder's resources for this
// GPU, or does not know the GPU (`details.lacks`: "builderResource" or "gpu"); else `code`. "TensorRT 10.15.1" + `what`
// ("could not …", ": enqueueV3 failed") + the reason.
Error failureOf(const Library& library, const std::string& what, const char* code = "ERR_TRT_EXECUTION");

}  // namespace nt::tensorrt
