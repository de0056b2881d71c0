// What Git leaves in place of a file that Git LFS keeps, until it is fetched; lib/base/lfs.ts knows the same.
#pragma once

#include <string_view>

namespace nt {

inline constexpr std::string_view kLfsStart = "version https://git-lfs.";
inline constexpr const char* kLfsPointer =
    "a Git LFS pointer, and not the file itself, which was not fetched: git lfs pull";

}  // namespace nt
